#include "nn/optimizers.h"

#include "backend/optimizer_op.h"
#include "kernels/cpu/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

class AdadeltaOp final : public OptimizerOp {
 public:
  AdadeltaOp(const nn::AdadeltaSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernels::cpu::AdadeltaStep step{.learning_rate = a.update.learning_rate,
                                          .rho = spec_.rho,
                                          .epsilon = spec_.epsilon,
                                          .weight_decay = spec_.weight_decay.value_or(0)};
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::adadelta_update(step, b.gradients, a.n, b.weights, b.slots[0], b.slots[1]);
  }

 private:
  const nn::AdadeltaSpec& spec_;
};

const RegisteredOptimizerOp kCpuAdadelta = optimizer_op<nn::AdadeltaSpec, AdadeltaOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
