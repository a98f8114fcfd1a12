#pragma once

#include "nn/schedule.h"

namespace dptrain::nn {

/// (lr0 - end) (1 - min(s, steps) / steps)^power + end; cycle: steps grows to the next multiple of itself.
struct PolynomialDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double end_learning_rate = 1e-4;
  double power = 1;
  bool cycle = false;
};

}  // namespace dptrain::nn
