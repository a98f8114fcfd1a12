#pragma once

// The convolution of a layer with a window in the words of gpu::Convolution.

#include "device/gpu/convolution.h"
#include "layers/geometry.h"

namespace dptrain::device::gpu {

/// One sample's, from `in` to `out` with the spec's kernel_size, strides, dilation_rate and padding; type, groups and
/// epilogue are the caller's. Conv2DTranspose gives its output for `in`: it is the gradient of that convolution.
template <class Spec>
ConvProblem window_problem(const Spec& spec, const Shape& in, const Shape& out) {
  const layers::Window window = layers::window(in, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {.rows = 1,
          .h = in[0],
          .w = in[1],
          .c = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .k = out[2],
          .r = spec.kernel_size.h,
          .s = spec.kernel_size.w,
          .stride_h = spec.strides.h,
          .stride_w = spec.strides.w,
          .dilation_h = spec.dilation_rate.h,
          .dilation_w = spec.dilation_rate.w,
          .pad_top = window.h.pad_before,
          .pad_bottom = window.h.pad_after,
          .pad_left = window.w.pad_before,
          .pad_right = window.w.pad_after};
}

}  // namespace dptrain::device::gpu
