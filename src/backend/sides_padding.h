#pragma once

// Sides of an image in the words of the kernels that pad, the same on every device.

#include "core/shape.h"
#include "nn/geometry.h"

namespace dptrain::backend {

/// `Padding`: of the device's kernels. `inside`: the image that `sides` lie around.
template <class Padding>
Padding sides_padding(const nn::Sides& sides, const Shape& inside) {
  return {.in_h = inside[0],
          .in_w = inside[1],
          .channels = inside[2],
          .top = sides.top,
          .bottom = sides.bottom,
          .left = sides.left,
          .right = sides.right};
}

}  // namespace dptrain::backend
