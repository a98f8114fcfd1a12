#pragma once

#include <optional>

#include "nn/geometry.h"

namespace dptrain::nn {

/// Largest value in each window of [H, W, C]; `same` pads with minus infinity (Keras MaxPooling2D).
struct MaxPooling2DSpec {
  Size2 pool_size{2, 2};
  std::optional<Size2> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

}  // namespace dptrain::nn
