#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Gradient descent, with momentum (Polyak 1964) or Nesterov's.
struct SGDSpec : OptimizerCommon {
  SGDSpec() { learning_rate.constant = 0.01; }
  double momentum = 0;
  bool nesterov = false;
};

}  // namespace dptrain::nn
