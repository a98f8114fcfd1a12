#pragma once

// A line of the result of a depthwise convolution, and the image and weights that it is computed from. Extents in
// floats.

#include <cstdint>

#include "kernels/cpu/depthwise_taps.h"

namespace dptrain::kernels::cpu {

struct DepthwiseLine {
  const float* image;
  const float* weights;
  const float* bias;  ///< or null
  bool relu;
  int64_t in_w;  ///< pixels
  int64_t in_channels, weight_channels, channels;
  int64_t kernel_w, multiplier;
  Taps rows;  ///< inside the image
  float* to;

  /// The first pixel of the source line that row r of the window meets, and that row's first weights.
  const float* source(int64_t r) const { return image + (rows.in + r * rows.in_step) * in_w * in_channels; }
  const float* taps(int64_t r) const { return weights + (rows.tap + r * rows.tap_step) * kernel_w * weight_channels; }
};

}  // namespace dptrain::kernels::cpu
