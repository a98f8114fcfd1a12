#pragma once

#include "optim/schedule.h"

namespace dptrain::optim {

/// lr0 / (1 + rate s / steps); staircase: whole decay_steps count only.
struct InverseTimeDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double decay_rate = 0;
  bool staircase = false;
};

}  // namespace dptrain::optim
