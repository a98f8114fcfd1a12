#pragma once

#include "layers/volumes.h"

namespace dptrain::layers {

/// Frames, rows and columns of zeros around [D, H, W, C] (Keras ZeroPadding3D).
struct ZeroPadding3DSpec {
  VolumeSides padding{{1, 1}, {1, 1}, {1, 1}};
};

}  // namespace dptrain::layers
