// Lamb has a file for each backend: CPUs move one weight tensor after the other, GPUs all in one launch.

#include "backend/ops/optimizer_base.h"
#include "nn/optimizers.h"

namespace dptrain::backend::cpu {
namespace {

class LambOp final : public OptimizerBase {
 public:
  LambOp(const nn::LambSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(context, device), pass_(adam_pass(spec)), plan_(context.plan) {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::lamb_step(pass_, state(a), b.gradients, a.n, b.weights, b.slots[0], b.slots[1]);
    for (const plan::Parameter& p : plan_.parameters)
      if (p.kind == plan::ParameterKind::kTrainable)
        kernel::lamb_update(a.update.learning_rate, b.gradients + p.offset, p.elements(), b.weights + p.offset);
  }

 private:
  const kernels::AdamPass pass_;
  const plan::Plan& plan_;
};

const RegisteredOptimizerOp kLamb = optimizer_op<nn::LambSpec, LambOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::cpu
