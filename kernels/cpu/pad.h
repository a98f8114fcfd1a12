#pragma once

// Zero padding of [rows, h, w, channels], zeros between pixels, copies of columns. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

struct Padding {
  int64_t in_h, in_w, channels;
  int64_t top, bottom, left, right;
};

/// y [rows, top + in_h + bottom, left + in_w + right, channels] = x with zeros around it.
void zero_pad_forward(const Launch&, DType, const Padding& padding, const float* x, int64_t rows, float* y);

/// dx = the inner part of dy.
void zero_pad_backward(const Launch&, DType, const Padding& padding, const float* dy, int64_t rows, float* dx);

/// Copies the pixels of an image to every stride-th pixel of a larger one, starting at its first pixel.
struct ZeroInsertion {
  int64_t in_h, in_w, channels;
  int64_t stride_h, stride_w;
  int64_t out_h, out_w;  ///< more than (in_h - 1) * stride_h and (in_w - 1) * stride_w
};

/// y [rows, out_h, out_w, channels]: the pixels of x, with zeros between and after them.
void insert_zero_pixels(const ZeroInsertion& spreading, const float* x, int64_t rows, float* y);

/// For each row: copies `width` floats from src + row * src_stride to dst + row * dst_stride.
void copy_columns(const Launch&, DType, const float* src, int64_t src_stride, float* dst, int64_t dst_stride,
                  int64_t rows, int64_t width);

}  // namespace dptrain::kernels::cpu
