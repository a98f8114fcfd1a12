#pragma once

#include <cstdint>
#include <vector>

#include "core/shape.h"

namespace dptrain::layers {

/// (x - mean) / max(sqrt(variance), 1e-7) along the last axis, or inverted x max(sqrt(variance), 1e-7) + mean, with
/// values that the config gives (Keras Normalization without adapt()).
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;  ///< one value, or one for each channel; as many of both
  bool invert = false;
};

/// What it computes of each channel: (x - shift) scale + offset.
struct ChannelAffine {
  std::vector<float> shift, scale, offset;
};
ChannelAffine channel_affine(const NormalizationSpec& spec, const Shape& in);

}  // namespace dptrain::layers
