#pragma once

// The pixels of two images that a convolution by matrix products combines. Only for gemm_*.cpp.

#include <cstdint>

#include "kernels/cpu/gemm_conv.h"

namespace dptrain::kernels::cpu {

/// The windows of a convolution: one per pixel of the output.
struct GemmPixels {
  struct Tap {
    int64_t y, x;  ///< offset of the source pixel from the position of the window
  };

  int64_t h = 0, w = 0;            ///< size of the output
  int64_t step_h = 1, step_w = 1;  ///< source pixels between windows
  int64_t in_h = 0, in_w = 0, in_channels = 0;
  int64_t out_channels = 0;
  int64_t taps = 0;
  Tap tap[kGemmConvTaps];

  struct Place {
    int64_t image, y, x;
  };
  Place place(int64_t row) const {
    if (h * w == 1) return {row, 0, 0};
    return {row / (h * w), row % (h * w) / w, row % w};
  }
  /// -1: outside the image.
  int64_t in_offset(const Place& p, int64_t t) const {
    const int64_t y = p.y * step_h + tap[t].y, x = p.x * step_w + tap[t].x;
    if (y < 0 || y >= in_h || x < 0 || x >= in_w) return -1;
    return ((p.image * in_h + y) * in_w + x) * in_channels;
  }
};

/// Turns a 1x1 convolution without stride or padding into one over images of one pixel; returns the new number of rows.
inline int64_t flatten_pixels(ConvWindow& w, int64_t rows) {
  if (w.kernel_h != 1 || w.kernel_w != 1 || w.stride_h != 1 || w.stride_w != 1 || w.pad_top != 0 || w.pad_left != 0 ||
      w.in_h != w.out_h || w.in_w != w.out_w)
    return rows;
  rows *= w.in_h * w.in_w;
  w = matrix_window(w.in_channels, w.out_channels);
  return rows;
}

inline GemmPixels forward_pixels(const ConvWindow& w) {
  GemmPixels p{.h = w.out_h,
               .w = w.out_w,
               .step_h = w.stride_h,
               .step_w = w.stride_w,
               .in_h = w.in_h,
               .in_w = w.in_w,
               .in_channels = w.in_channels,
               .out_channels = w.out_channels,
               .taps = w.kernel_h * w.kernel_w,
               .tap = {}};
  for (int64_t t = 0; t < p.taps; ++t) p.tap[t] = {t / w.kernel_w - w.pad_top, t % w.kernel_w - w.pad_left};
  return p;
}

}  // namespace dptrain::kernels::cpu
