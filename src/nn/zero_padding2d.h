#pragma once

#include "nn/sides.h"

namespace dptrain::nn {

/// Rows and columns of zeros around [H, W, C] (Keras ZeroPadding2D).
struct ZeroPadding2DSpec {
  Sides padding{1, 1, 1, 1};
};

}  // namespace dptrain::nn
