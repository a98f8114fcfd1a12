#pragma once

// A Conv2D layer in the words of the passes. Any thread.

#include "backend/cpu/conv/conv_pass.h"
#include "backend/geometry.h"
#include "nn/convolutions.h"

namespace dptrain::backend::cpu {

/// Rows, relu and pool unset. `input`: [H, W, C].
inline ConvShape conv2d_shape(const nn::Conv2DSpec& spec, const Shape& input) {
  const auto window = nn::window(input, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  ConvShape shape{conv_window(spec, input, {window.h.out, window.w.out, spec.filters})};
  shape.groups = spec.groups;
  shape.bias = spec.use_bias;
  return shape;
}

}  // namespace dptrain::backend::cpu
