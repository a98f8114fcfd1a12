#pragma once

#include <optional>

#include "nn/geometry.h"

namespace dptrain::nn {

/// Mean of each window of [H, W, C]; padding is left out of the divisor (Keras AveragePooling2D).
struct AveragePooling2DSpec {
  Size2 pool_size{2, 2};
  std::optional<Size2> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

}  // namespace dptrain::nn
