#pragma once

// The convolution of a layer over volumes as one over images, the same on every device: of each window along the depth,
// an image whose channels are those of all its frames.

#include "core/shape.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"

namespace dptrain::backend {

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

/// What the layer computes of each image: `Image` is the spec over images, its filters and groups are the caller's.
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
