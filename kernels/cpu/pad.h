#pragma once

// Moves without arithmetic: zero padding of [rows, h, w, channels], and copies of column blocks for concatenation and
// its gradient. May be called from any thread; work is shared among the caller's threads. Outputs are
// overwritten and must not overlap inputs.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct Padding {
  int64_t in_h, in_w, channels;
  int64_t top, bottom, left, right;
};

/// y [rows, top + in_h + bottom, left + in_w + right, channels] = x with zeros around it.
void zero_pad_forward(const Padding& padding, const float* x, int64_t rows, float* y);

/// dx = the inner part of dy.
void zero_pad_backward(const Padding& padding, const float* dy, int64_t rows, float* dx);

/// For each row: `width` floats from src + row * src_stride to dst + row * dst_stride.
void copy_columns(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t width);

}  // namespace dptrain::kernels::cpu
