#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/shape.h"
#include "nn/channel_affine.h"

namespace dptrain::nn {

/// (x - mean) / max(sqrt(variance), 1e-7) along the last axis, or inverted x max(sqrt(variance), 1e-7) + mean. The
/// values are the config's, or weights that training leaves alone: what adapt() has found (Keras Normalization).
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;  ///< one value, or one for each channel; as many of both. None: weights
  bool invert = false;
};

/// Whether mean and variance are weights, in Keras's order mean, variance and count.
inline bool moments_are_weights(const NormalizationSpec& spec) { return spec.mean.empty(); }
/// For values of the config.
ChannelAffine channel_affine(const NormalizationSpec& spec, const Shape& in);
/// For values of the weights, one for each channel.
ChannelAffine channel_affine(const NormalizationSpec& spec, std::span<const float> mean,
                             std::span<const float> variance);

}  // namespace dptrain::nn
