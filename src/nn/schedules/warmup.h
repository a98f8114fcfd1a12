#pragma once

#include "nn/schedule.h"

namespace dptrain::nn {

/// A line from lr0 to where `then` begins, in front of any schedule or number; `then` counts its steps from the end of
/// the line, as Keras's CosineDecay does behind its own warm-up. Not a class of Keras, which has a warm-up in
/// CosineDecay alone.
struct WarmupSpec {
  double initial_learning_rate = 0;
  config::Duration warmup_steps;
  LearningRate then;
};

}  // namespace dptrain::nn
