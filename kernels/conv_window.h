#pragma once

// What a convolution without groups and dilation is, for the kernels of our own. Plain data.

#include <cstdint>

namespace dptrain::kernels {

/// Images are [rows, in_h, in_w, in_channels] and [rows, out_h, out_w, out_channels], weights
/// [kernel_h, kernel_w, in_channels, out_channels]. What a window reads outside the image is zero; how far it reaches
/// beyond the far ends follows from the sizes.
struct ConvWindow {
  int64_t in_h, in_w, in_channels;
  int64_t out_h, out_w, out_channels;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_top, pad_left;

  constexpr int64_t taps() const { return kernel_h * kernel_w * in_channels; }
  constexpr int64_t weights() const { return taps() * out_channels; }
};

/// Where a 2x2 max-pooling behind a ReLU took nothing; elsewhere 2 * row + column of the window's first largest value.
inline constexpr uint8_t kNothingTaken = 4;

}  // namespace dptrain::kernels
