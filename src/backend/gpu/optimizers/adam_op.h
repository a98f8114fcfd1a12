#pragma once

#include "backend/gpu/optimizers/adam_pass.h"
#include "nn/optimizers.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// Adam and AdamW: they differ in a default.
class AdamOp final : public GpuOptimizer {
 public:
  AdamOp(const nn::AdamSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void describe(const nn::UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] =
        args.learning_rate * std::sqrt(bias_correction(spec_.beta_2, args)) / bias_correction(spec_.beta_1, args);
  }

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::adam_update(at(a), adam_pass(spec_), state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1],
                        spec_.amsgrad ? b.slots[2] : nullptr);
  }

 private:
  const nn::AdamSpec& spec_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
