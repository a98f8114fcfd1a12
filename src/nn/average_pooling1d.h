#pragma once

#include <optional>

#include "nn/steps.h"

namespace dptrain::nn {

/// Mean of each window of [steps, C]; padding is left out of the divisor (Keras AveragePooling1D).
struct AveragePooling1DSpec {
  Extent pool_size{2};
  std::optional<Extent> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

}  // namespace dptrain::nn
