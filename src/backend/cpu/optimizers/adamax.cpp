#include "nn/optimizers.h"

#include "backend/cpu/optimizers/adam_step.h"

namespace dptrain::backend::cpu {
namespace {

class AdamaxOp final : public OptimizerOp {
 public:
  AdamaxOp(const nn::AdamaxSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::adamax_update(adam_step(spec_, a.update), b.gradients, a.n, b.weights, b.slots[0], b.slots[1]);
  }

 private:
  const nn::AdamaxSpec& spec_;
};

const RegisteredOptimizerOp kCpuAdamax = optimizer_op<nn::AdamaxSpec, AdamaxOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
