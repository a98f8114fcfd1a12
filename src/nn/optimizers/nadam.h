#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Adam with Nesterov's momentum (Dozat 2016), which rises as beta_1 (1 - 0.96^t / 2). The product of all momenta so
/// far, Keras's variable `u_product`, is a function of t (kernels/nadam_momenta.h), so there is no state beyond the
/// slots.
struct NadamSpec : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
};

}  // namespace dptrain::nn
