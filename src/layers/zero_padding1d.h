#pragma once

#include "layers/sides.h"

namespace dptrain::layers {

/// Steps of zeros before and after [steps, C] (Keras ZeroPadding1D).
struct ZeroPadding1DSpec {
  Ends padding{1, 1};
};

}  // namespace dptrain::layers
