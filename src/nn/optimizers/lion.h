#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// By the sign of an average alone (Chen et al. 2023).
struct LionSpec : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.99;
};

}  // namespace dptrain::nn
