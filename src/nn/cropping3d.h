#pragma once

#include "nn/volumes.h"

namespace dptrain::nn {

/// [D, H, W, C] without frames, rows and columns at its sides (Keras Cropping3D).
struct Cropping3DSpec {
  VolumeSides cropping{{1, 1}, {1, 1}, {1, 1}};
};

}  // namespace dptrain::nn
