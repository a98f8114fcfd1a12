#pragma once

// Zero padding of [rows, h, w, channels], by copying. Outputs must not overlap inputs.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct Padding {
  std::int64_t in_h, in_w, channels;
  std::int64_t top, bottom, left, right;
};

/// y [rows, top + in_h + bottom, left + in_w + right, channels] = x surrounded by zeros.
void zero_pad_forward(const Launch& at, DType type, const Padding& padding, const void* x, std::int64_t rows, void* y);

/// dx = inner part of dy.
void zero_pad_backward(const Launch& at, DType type, const Padding& padding, const void* dy, std::int64_t rows,
                       void* dx);

/// Copies `width` elements per row from src + row * src_stride to dst + row * dst_stride (strides in elements), without
/// overlap. For concatenation and its gradient, all axes before the concatenated one are rows.
void copy_columns(const Launch& at, DType type, const void* src, std::int64_t src_stride, void* dst,
                  std::int64_t dst_stride, std::int64_t rows, std::int64_t width);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
