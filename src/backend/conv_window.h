#pragma once

// The convolution of a layer with a window in the words of every device.

#include "core/shape.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"

namespace dptrain::backend {

/// From `in` to `out` with the spec's kernel_size, strides, dilation_rate and padding; groups are the caller's.
/// Conv2DTranspose gives its output for `in`: it is the gradient of that convolution.
template <class Spec>
kernels::ConvWindow conv_window(const Spec& spec, const Shape& in, const Shape& out) {
  const nn::Window window = nn::window(in, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {.in_h = in[0],
          .in_w = in[1],
          .in_channels = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .out_channels = out[2],
          .kernel_h = spec.kernel_size.h,
          .kernel_w = spec.kernel_size.w,
          .stride_h = spec.strides.h,
          .stride_w = spec.strides.w,
          .dilation_h = spec.dilation_rate.h,
          .dilation_w = spec.dilation_rate.w,
          .pad_top = window.h.pad_before,
          .pad_bottom = window.h.pad_after,
          .pad_left = window.w.pad_before,
          .pad_right = window.w.pad_after};
}

}  // namespace dptrain::backend
