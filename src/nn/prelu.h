#pragma once

#include "core/shape.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// x if x > 0 else alpha * x, with a learned alpha per element of a sample, or one for all elements along the shared
/// axes (Keras PReLU).
struct PReLUSpec {
  Initializer alpha_initializer{Zeros{}};
  Regularizer alpha_regularizer;
  Shape shared_axes;  ///< counted from 1, the batch being axis 0: [1, 2] shares over height and width
};

}  // namespace dptrain::nn
