#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Tieleman and Hinton 2012, as Keras has it; centered: by the variance of the gradient (Graves 2013).
struct RMSpropSpec : OptimizerCommon {
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
};

}  // namespace dptrain::nn
