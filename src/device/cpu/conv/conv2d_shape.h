#pragma once

// A Conv2D layer in the words of the passes. Any thread.

#include "core/shape.h"
#include "device/cpu/conv/conv_pass.h"
#include "layers/conv2d.h"

namespace dptrain::device::cpu {

/// Rows, relu and pool unset. `input`: [H, W, C].
ConvShape conv2d_shape(const layers::Conv2DSpec& spec, const Shape& input);

}  // namespace dptrain::device::cpu
