#pragma once

// Elements along one axis that a depthwise convolution combines, in forward and in backward data.

#include <algorithm>
#include <cstdint>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// Tap k of `count` is tap + k tap_step of the window and reads source element in + k in_step.
struct Taps {
  int64_t count, tap, tap_step, in, in_step;

  /// The taps whose source element is in [0, extent).
  Taps inside(int64_t extent) const {
    const int64_t step = in_step > 0 ? in_step : -in_step;
    const int64_t before = in_step > 0 ? -in : in - extent + 1;  // distance of the first tap to the near end
    const int64_t room = in_step > 0 ? extent - 1 - in : in;     // distance of the first tap to the far end
    const int64_t first = before > 0 ? (before + step - 1) / step : 0;
    const int64_t end = room < 0 ? 0 : std::min(count, room / step + 1);
    return {std::max<int64_t>(0, end - first), tap + first * tap_step, tap_step, in + first * in_step, in_step};
  }
  Taps moved(int64_t elements) const { return {count, tap, tap_step, in + elements, in_step}; }
};

struct TapAxis {
  int64_t kernel, stride, dilation, pad, in, out;

  static TapAxis rows(const DepthwiseShape& s) {
    return {s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.in_h, s.out_h};
  }
  static TapAxis columns(const DepthwiseShape& s) {
    return {s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.in_w, s.out_w};
  }

  Taps forward(int64_t o) const { return {kernel, 0, 1, o * stride - pad, dilation}; }
  /// The taps through which outputs read input i: every stride-th tap of the window.
  Taps backward(int64_t i) const {
    const int64_t tap = (i + pad) % stride;
    return {tap < kernel ? (kernel - tap + stride - 1) / stride : 0, tap, stride, (i + pad - tap) / stride, -dilation};
  }
};

/// Elements `first`, `first + step` and so on in a line of the result. `advance`: source elements between the taps of
/// adjacent elements.
struct Run {
  int64_t first, step, count, advance;
  Taps taps;

  /// [begin, end): the elements whose taps are all inside [0, extent).
  struct Range {
    int64_t begin, end;
  };
  Range whole(int64_t extent) const {
    const int64_t reach = taps.count > 0 ? (taps.count - 1) * taps.in_step : 0;
    const int64_t low = taps.in + std::min<int64_t>(0, reach), high = taps.in + std::max<int64_t>(0, reach);
    const int64_t begin = low < 0 ? std::min(count, (-low + advance - 1) / advance) : 0;
    const int64_t end = high > extent - 1 ? 0 : std::min(count, (extent - 1 - high) / advance + 1);
    return {begin, std::max(begin, end)};
  }
};

/// A line of the result, and the image and weights it is computed from. Widths in pixels, channels in floats.
struct DepthwiseLine {
  const float* image;
  const float* weights;
  const float* bias;  ///< or null
  bool relu;
  int64_t in_w;
  int64_t in_channels, weight_channels, channels;
  int64_t kernel_w, multiplier;
  Taps rows;  ///< inside the image
  float* to;

  /// First pixel of the source line under row r of the window, and the first weights of that row.
  const float* source(int64_t r) const { return image + (rows.in + r * rows.in_step) * in_w * in_channels; }
  const float* taps(int64_t r) const { return weights + (rows.tap + r * rows.tap_step) * kernel_w * weight_channels; }
};

}  // namespace dptrain::kernels::cpu
