#pragma once

#include "layers/sides.h"

namespace dptrain::layers {

/// [H, W, C] without rows and columns at its sides (Keras Cropping2D).
struct Cropping2DSpec {
  Sides cropping;
};

}  // namespace dptrain::layers
