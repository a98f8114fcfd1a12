#pragma once

#include "nn/sides.h"

namespace dptrain::nn {

/// [H, W, C] without rows and columns at its sides (Keras Cropping2D).
struct Cropping2DSpec {
  Sides cropping;
};

}  // namespace dptrain::nn
