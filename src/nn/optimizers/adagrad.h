#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Duchi, Hazan and Singer 2011.
struct AdagradSpec : OptimizerCommon {
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
};

}  // namespace dptrain::nn
