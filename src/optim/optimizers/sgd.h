#pragma once

#include "optim/optimizer.h"

namespace dptrain::optim {

/// Gradient descent, with momentum (Polyak 1964) or Nesterov's.
struct SGDSpec : OptimizerCommon {
  SGDSpec() { learning_rate.constant = 0.01; }
  double momentum = 0;
  bool nesterov = false;
};

}  // namespace dptrain::optim
