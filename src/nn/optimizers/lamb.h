#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Adam's step, scaled for each weight tensor to the norm of its weights (You et al. 2020, as Keras has it).
struct LambSpec : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
};

}  // namespace dptrain::nn
