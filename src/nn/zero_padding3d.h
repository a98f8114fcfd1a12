#pragma once

#include "nn/volumes.h"

namespace dptrain::nn {

/// Frames, rows and columns of zeros around [D, H, W, C] (Keras ZeroPadding3D).
struct ZeroPadding3DSpec {
  VolumeSides padding{{1, 1}, {1, 1}, {1, 1}};
};

}  // namespace dptrain::nn
