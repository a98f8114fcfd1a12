#include "device/cpu/conv/conv2d_shape.h"

#include "device/cpu/conv/window_shape.h"

namespace dptrain::device::cpu {

ConvShape conv2d_shape(const layers::Conv2DSpec& spec, const Shape& input) {
  const auto window = layers::window(input, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  ConvShape shape = window_shape(spec, input, {window.h.out, window.w.out, spec.filters});
  shape.groups = spec.groups;
  shape.bias = spec.use_bias;
  return shape;
}

}  // namespace dptrain::device::cpu
