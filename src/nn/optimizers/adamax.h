#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Adam by the largest gradient (Kingma and Ba 2015, section 7.1).
struct AdamaxSpec : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
};

}  // namespace dptrain::nn
