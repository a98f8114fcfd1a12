#pragma once

#include <optional>

#include "nn/steps.h"

namespace dptrain::nn {

/// Largest value in each window of [steps, C]; `same` pads with minus infinity (Keras MaxPooling1D).
struct MaxPooling1DSpec {
  Extent pool_size{2};
  std::optional<Extent> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

}  // namespace dptrain::nn
