#pragma once

#include "nn/schedule.h"

namespace dptrain::nn {

/// lr0 / (1 + rate s / steps); staircase: whole decay_steps count only.
struct InverseTimeDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double decay_rate = 0;
  bool staircase = false;
};

}  // namespace dptrain::nn
