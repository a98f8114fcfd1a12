#pragma once

#include "nn/volumes.h"

namespace dptrain::nn {

/// Every value of [D, H, W, C] repeated along each axis (Keras UpSampling3D).
struct UpSampling3DSpec {
  Size3 size{2, 2, 2};
};

}  // namespace dptrain::nn
