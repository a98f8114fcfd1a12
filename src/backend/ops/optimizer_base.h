#pragma once

// OptimizerBase: base of the optimizer ops, with the arguments that all their kernels have. Replica's thread.

#include "backend/ops/kernel_op.h"
#include "backend/optimizer_op.h"
#include DPTRAIN_KERNELS(adam.h)
#include DPTRAIN_KERNELS(optimizer.h)

namespace dptrain::backend::DPTRAIN_BACKEND {

class OptimizerBase : public OptimizerOp {
 protected:
  OptimizerBase(const UpdateContext& context, Device& device)
      : device_(static_cast<BackendDevice&>(device)), compute_(context.plan.compute) {}

  kernel::Launch at(const OptimizerArgs& a) const { return launch_on(device_, &a.stream); }

#if DPTRAIN_IS_CPU
  static kernel::UpdateState state(const OptimizerArgs& a) {
    return {.learning_rate = a.update.learning_rate, .step = a.update.step + 1};
  }
  static float* weights(const OptimizerArgs& a) { return a.buffers.weights; }
#else
  static kernel::UpdateState state(const OptimizerArgs& a) { return {.step = a.state, .scale = a.buffers.loss_scale}; }
  kernel::UpdatedWeights weights(const OptimizerArgs& a) const {
    return {.w = a.buffers.weights, .compute = a.buffers.compute, .compute_type = compute_};
  }
#endif

  BackendDevice& device_;
  const DType compute_;  // GPUs: type of the copy of the weights
};

template <class Spec>
kernels::AdamPass adam_pass(const Spec& spec) {
  return {.beta_1 = spec.beta_1,
          .beta_2 = spec.beta_2,
          .epsilon = spec.epsilon,
          .weight_decay = spec.weight_decay.value_or(0)};
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
