#pragma once

// Specs of all optimizers, with Keras's names and defaults. Equations: docs/reference/numerics.md; slots:
// nn/optimizers.cpp.

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Gradient descent, with momentum (Polyak 1964) or Nesterov's.
struct SGDSpec : OptimizerCommon {
  SGDSpec() { learning_rate.constant = 0.01; }
  double momentum = 0;
  bool nesterov = false;
};

/// Duchi, Hazan and Singer 2011.
struct AdagradSpec : OptimizerCommon {
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
};

/// Zeiler 2012, with a learning rate.
struct AdadeltaSpec : OptimizerCommon {
  double rho = 0.95, epsilon = 1e-7;
};

/// Tieleman and Hinton 2012, as in Keras; centered: divides by the variance of the gradient (Graves 2013).
struct RMSpropSpec : OptimizerCommon {
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
};

/// Steps by the sign of an average (Chen et al. 2023).
struct LionSpec : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.99;
};

/// The arguments of Adam and its relatives: decay rates of the averages of gradients and of their squares.
struct AdamArguments : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
};

/// Kingma and Ba 2015; amsgrad: Reddi, Kale and Kumar 2018.
struct AdamSpec : AdamArguments {
  bool amsgrad = false;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
struct AdamWSpec : AdamSpec {
  AdamWSpec() { weight_decay = 0.004; }
};

/// Adam with the largest gradient as divisor (Kingma and Ba 2015, section 7.1).
struct AdamaxSpec : AdamArguments {};

/// Adam with Nesterov's momentum (Dozat 2016), which rises as beta_1 (1 - 0.96^t / 2). The product of all momenta so
/// far, Keras's variable `u_product`, is a function of t (kernels/nadam_momenta.h), so there is no state beyond the
/// slots.
struct NadamSpec : AdamArguments {};

/// Adam's step, scaled for each weight tensor to the norm of its weights (You et al. 2020, as in Keras).
struct LambSpec : AdamArguments {};

}  // namespace dptrain::nn
