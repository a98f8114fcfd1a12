#pragma once

#include "nn/schedule.h"

namespace dptrain::nn {

/// Half a cosine from lr0 down to alpha lr0 (Loshchilov and Hutter 2017); with a warmup_target a line from lr0 to it
/// comes first, and the cosine begins there.
struct CosineDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double alpha = 0;
  std::optional<double> warmup_target;
  config::Duration warmup_steps;
};

}  // namespace dptrain::nn
