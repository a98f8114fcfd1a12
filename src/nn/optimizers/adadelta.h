#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Zeiler 2012, with a learning rate.
struct AdadeltaSpec : OptimizerCommon {
  double rho = 0.95, epsilon = 1e-7;
};

}  // namespace dptrain::nn
