#pragma once

#include <optional>

#include "nn/volumes.h"

namespace dptrain::nn {

/// Mean of each window of [D, H, W, C]; padding is left out of the divisor (Keras AveragePooling3D).
struct AveragePooling3DSpec {
  Size3 pool_size{2, 2, 2};
  std::optional<Size3> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

}  // namespace dptrain::nn
