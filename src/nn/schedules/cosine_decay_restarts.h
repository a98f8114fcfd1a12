#pragma once

#include "nn/schedule.h"

namespace dptrain::nn {

/// Half a cosine from lr0 down to alpha lr0, again and again (Loshchilov and Hutter 2017): each time t_mul times as
/// long, from a rate m_mul times as high.
struct CosineDecayRestartsSpec {
  double initial_learning_rate = 0;
  config::Duration first_decay_steps;
  double t_mul = 2, m_mul = 1;
  double alpha = 0;
};

}  // namespace dptrain::nn
