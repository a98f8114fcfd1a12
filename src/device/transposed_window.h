#pragma once

// The convolution that a Conv2DTranspose is the gradient of, the same on every device: from the layer's output back to its
// input.

#include "core/shape.h"
#include "layers/conv2d_transpose.h"

namespace dptrain::device {

/// `out`: the layer's output.
inline layers::Window transposed_window(const layers::Conv2DTransposeSpec& spec, const Shape& out) {
  return layers::window(out, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
}

}  // namespace dptrain::device
