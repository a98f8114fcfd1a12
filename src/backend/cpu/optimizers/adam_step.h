#pragma once

// What the kernels of Adam and its relatives are told of a step.

#include "backend/optimizer_op.h"
#include "kernels/cpu/adam.h"

namespace dptrain::backend::cpu {

template <class Spec>
kernels::cpu::AdamStep adam_step(const Spec& spec, const nn::UpdateArgs& update) {
  return {.learning_rate = update.learning_rate,
          .beta_1 = spec.beta_1,
          .beta_2 = spec.beta_2,
          .epsilon = spec.epsilon,
          .weight_decay = spec.weight_decay.value_or(0),
          .step = update.step + 1};
}

}  // namespace dptrain::backend::cpu
