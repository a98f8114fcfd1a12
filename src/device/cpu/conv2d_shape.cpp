#include "device/cpu/conv2d_shape.h"

#include "layers/geometry.h"

namespace dptrain::device::cpu {

ConvShape conv2d_shape(const layers::Conv2DSpec& spec, const Shape& input) {
  const auto window = layers::window(input, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {.in_h = input[0],
          .in_w = input[1],
          .in_channels = input[2],
          .out_h = window.h.out,
          .out_w = window.w.out,
          .out_channels = spec.filters,
          .kernel = spec.kernel_size,
          .strides = spec.strides,
          .dilation = spec.dilation_rate,
          .pad_top = window.h.pad_before,
          .pad_bottom = window.h.pad_after,
          .pad_left = window.w.pad_before,
          .pad_right = window.w.pad_after,
          .groups = spec.groups,
          .bias = spec.use_bias};
}

}  // namespace dptrain::device::cpu
