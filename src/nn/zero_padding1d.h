#pragma once

#include "nn/sides.h"

namespace dptrain::nn {

/// Steps of zeros before and after [steps, C] (Keras ZeroPadding1D).
struct ZeroPadding1DSpec {
  Ends padding{1, 1};
};

}  // namespace dptrain::nn
