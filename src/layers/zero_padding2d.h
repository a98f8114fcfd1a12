#pragma once

#include "layers/sides.h"

namespace dptrain::layers {

/// Rows and columns of zeros around [H, W, C] (Keras ZeroPadding2D).
struct ZeroPadding2DSpec {
  Sides padding{1, 1, 1, 1};
};

}  // namespace dptrain::layers
