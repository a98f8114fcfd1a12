#include "nn/optimizers.h"

#include "backend/cpu/optimizers/adam_step.h"

namespace dptrain::backend::cpu {
namespace {

class LambOp final : public OptimizerOp {
 public:
  LambOp(const nn::LambSpec& spec, const UpdateContext& context, Device&) : spec_(spec), plan_(context.plan) {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::lamb_step(adam_step(spec_, a.update), b.gradients, a.n, b.weights, b.slots[0], b.slots[1]);
    for (const plan::Parameter& p : plan_.parameters)
      if (p.kind == plan::ParameterKind::kTrainable)
        kernels::cpu::lamb_update(a.update.learning_rate, b.gradients + p.offset, p.elements(), b.weights + p.offset);
  }

 private:
  const nn::LambSpec& spec_;
  const plan::Plan& plan_;
};

const RegisteredOptimizerOp kCpuLamb = optimizer_op<nn::LambSpec, LambOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
