#pragma once

// What a convolution is, the same for the kernels of our own and for every device. Plain data.

#include <compare>
#include <cstdint>

namespace dptrain::kernels {

/// Images are [rows, in_h, in_w, in_channels] and [rows, out_h, out_w, out_channels], weights
/// [kernel_h, kernel_w, in_channels / groups, out_channels] (on GPUs: backend/gpu/convolution.h). What a window reads
/// outside the image is zero.
struct ConvWindow {
  int64_t in_h = 1, in_w = 1, in_channels = 0;
  int64_t out_h = 1, out_w = 1, out_channels = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t groups = 1;

  auto operator<=>(const ConvWindow&) const = default;

  constexpr int64_t taps() const { return kernel_h * kernel_w * in_channels / groups; }
  constexpr int64_t weights() const { return taps() * out_channels; }
  constexpr bool one_pixel() const { return kernel_h == 1 && kernel_w == 1; }
  constexpr bool strided() const { return stride_h != 1 || stride_w != 1; }
  constexpr bool dilated() const { return dilation_h != 1 || dilation_w != 1; }
};

/// Where a 2x2 max-pooling behind a ReLU took nothing; elsewhere 2 * row + column of the window's first largest value.
inline constexpr uint8_t kNothingTaken = 4;

}  // namespace dptrain::kernels
