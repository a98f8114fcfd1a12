#pragma once

// What the kernels of Adam and its relatives are told of the optimizer.

#include <cmath>

#include "backend/gpu/optimizers/gpu_optimizer.h"
#include "kernels/cuda/adam.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

template <class Spec>
kernel::AdamPass adam_pass(const Spec& spec) {
  return {.beta_1 = spec.beta_1,
          .beta_2 = spec.beta_2,
          .epsilon = spec.epsilon,
          .weight_decay = spec.weight_decay.value_or(0)};
}

/// 1 - beta^t in update t = step + 1.
inline double bias_correction(double beta, const nn::UpdateArgs& args) {
  return 1 - std::pow(beta, static_cast<double>(args.step + 1));
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
