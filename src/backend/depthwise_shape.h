#pragma once

// A depthwise convolution in the kernels' words, the same on every device.

#include "core/shape.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"

namespace dptrain::backend {

/// Of a layer with depthwise_kernel [kh, kw, C, depth_multiplier] on images of shape `in`.
template <class Spec>
kernels::DepthwiseShape depthwise_shape(const Spec& spec, const Shape& in) {
  const nn::Window window = nn::window(in, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {.in_h = in[0],
          .in_w = in[1],
          .channels = in[2],
          .multiplier = spec.depth_multiplier,
          .out_h = window.h.out,
          .out_w = window.w.out,
          .kernel_h = spec.kernel_size.h,
          .kernel_w = spec.kernel_size.w,
          .stride_h = spec.strides.h,
          .stride_w = spec.strides.w,
          .dilation_h = spec.dilation_rate.h,
          .dilation_w = spec.dilation_rate.w,
          .pad_top = window.h.pad_before,
          .pad_left = window.w.pad_before};
}

/// The 1x1 convolution of its result to `filters` channels.
inline kernels::ConvWindow pointwise_window(const kernels::DepthwiseShape& s, std::int64_t filters) {
  return {.in_h = s.out_h,
          .in_w = s.out_w,
          .in_channels = s.out_channels(),
          .out_h = s.out_h,
          .out_w = s.out_w,
          .out_channels = filters};
}

/// Numbers of one sample's result, and multiply-adds times two for them.
inline std::int64_t result_elements(const kernels::DepthwiseShape& s) { return s.out_h * s.out_w * s.out_channels(); }
inline double flops(const kernels::DepthwiseShape& s) {
  return 2.0 * static_cast<double>(result_elements(s)) * static_cast<double>(s.kernel_h * s.kernel_w);
}

}  // namespace dptrain::backend
