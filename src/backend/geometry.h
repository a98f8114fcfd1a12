#pragma once

// Windows and shapes of layers as arguments of kernels, the same for every backend.

#include "core/shape.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"

namespace dptrain::backend {

/// From `in` to `out` with the spec's kernel_size, strides, dilation_rate and padding; the caller sets groups.
/// Conv2DTranspose passes its output as `in`: it is the gradient of that convolution.
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

/// The shape of a layer with depthwise_kernel [kh, kw, C, depth_multiplier] on images of shape `in`.
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

/// The 1x1 convolution of the depthwise result to `filters` channels.
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

/// Along the depth from the volume `in` to `out_d` windows, with the spec's kernel_size, strides, dilation_rate and
/// padding.
template <class Spec>
kernels::DepthWindow depth_window(const Spec& spec, const Shape& in, std::int64_t groups) {
  const nn::WindowAxis axis =
      nn::window_axis(in[0], spec.kernel_size.d, spec.strides.d, spec.dilation_rate.d, spec.padding);
  return {.in_d = in[0],
          .out_d = axis.out,
          .positions = in[1] * in[2],
          .groups = groups,
          .channels = in[3] / groups,
          .kernel = spec.kernel_size.d,
          .stride = spec.strides.d,
          .dilation = spec.dilation_rate.d,
          .pad = axis.pad_before};
}

/// The spec of the layer over each image. `Image` is the type of the spec; the caller sets its filters and groups.
template <class Image, class Spec>
Image image_spec(const Spec& spec) {
  Image image;
  image.kernel_size = nn::within_frame(spec.kernel_size);
  image.strides = nn::within_frame(spec.strides);
  image.padding = spec.padding;
  image.dilation_rate = nn::within_frame(spec.dilation_rate);
  return image;
}

}  // namespace dptrain::backend
