#pragma once

#include "backend/cpu/optimizers/adam_step.h"
#include "nn/optimizers.h"

namespace dptrain::backend::cpu {

/// Adam and AdamW: they differ in a default.
class AdamOp final : public OptimizerOp {
 public:
  AdamOp(const nn::AdamSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::adam_update(adam_step(spec_, a.update), b.gradients, a.n, b.weights, b.slots[0], b.slots[1],
                              spec_.amsgrad ? b.slots[2] : nullptr);
  }

 private:
  const nn::AdamSpec& spec_;
};

}  // namespace dptrain::backend::cpu
