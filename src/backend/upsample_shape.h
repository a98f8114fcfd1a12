#pragma once

// What enlarges or resizes an image, in the words of the kernels, the same on every device.

#include "backend/op.h"
#include "kernels/geometry.h"
#include "nn/resizing.h"

namespace dptrain::backend {

/// From the step's input to its output.
inline kernels::UpsampleShape upsample_shape(const OpContext& context, nn::Interpolation interpolation) {
  const Shape in = context.input(0), out = context.output();
  return {.in_h = in[0],
          .in_w = in[1],
          .channels = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .bilinear = interpolation == nn::Interpolation::kBilinear};
}

}  // namespace dptrain::backend
