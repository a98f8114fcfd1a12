#pragma once

// Factors and offsets of channels: what Rescaling and Normalization compute.

#include <vector>

#include "config/value.h"

namespace dptrain::nn {

/// One value, or one for each channel; a single one is written without a list.
struct ChannelValues {
  std::vector<double> values;
  double of(std::size_t channel) const { return values.size() == 1 ? values[0] : values[channel]; }
};

/// Of each channel: (x - shift) scale + offset.
struct ChannelAffine {
  explicit ChannelAffine(std::size_t channels) : shift(channels), scale(channels), offset(channels) {}
  std::vector<float> shift, scale, offset;
};

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::ChannelValues> {
  static bool read(const Node& node, Reader& reader, nn::ChannelValues& out) {
    return Value<std::vector<double>>::read(node, reader, out.values);
  }
  static Node write(const nn::ChannelValues& channels) {
    return channels.values.size() == 1 ? Value<double>::write(channels.values[0])
                                       : Value<std::vector<double>>::write(channels.values);
  }
  static Node schema() { return Value<std::vector<double>>::schema(); }
};
}  // namespace dptrain::config
