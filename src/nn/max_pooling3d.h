#pragma once

#include <optional>

#include "nn/volumes.h"

namespace dptrain::nn {

/// Largest value in each window of [D, H, W, C]; `same` pads with minus infinity (Keras MaxPooling3D).
struct MaxPooling3DSpec {
  Size3 pool_size{2, 2, 2};
  std::optional<Size3> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

}  // namespace dptrain::nn
