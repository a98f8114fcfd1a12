#pragma once

// The specs of the schedules that other modules read or create; the others are in nn/schedules.cpp. lr0 is the initial
// learning rate, s the number of steps done.

#include <optional>
#include <vector>

#include "nn/schedule.h"

namespace dptrain::nn {

/// Half a cosine from lr0 down to alpha lr0 (Loshchilov and Hutter 2017). With a warmup_target a linear part from lr0
/// to that rate precedes it, and the cosine starts there.
struct CosineDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double alpha = 0;
  std::optional<double> warmup_target;
  config::Duration warmup_steps;
};

/// (lr0 - end) (1 - min(s, steps) / steps)^power + end; cycle: steps grows to the next multiple of itself.
struct PolynomialDecaySpec {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double end_learning_rate = 1e-4;
  double power = 1;
  bool cycle = false;
};

/// values[i] of the first i with s <= boundaries[i], then the last.
struct PiecewiseConstantDecaySpec {
  std::vector<config::Duration> boundaries;
  std::vector<double> values;
};

/// A line from lr0 to the first rate of `then`, which is any schedule or number. `then` counts its steps from the end
/// of the line, as Keras's CosineDecay does after its own warm-up. Keras has no such class; only its CosineDecay has a
/// warm-up.
struct WarmupSpec {
  double initial_learning_rate = 0;
  config::Duration warmup_steps;
  LearningRate then;
};

}  // namespace dptrain::nn
