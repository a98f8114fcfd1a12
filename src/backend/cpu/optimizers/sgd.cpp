#include "nn/optimizers.h"

#include "backend/optimizer_op.h"
#include "kernels/cpu/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

class SGDOp final : public OptimizerOp {
 public:
  SGDOp(const nn::SGDSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernels::cpu::SgdStep step{.learning_rate = a.update.learning_rate,
                                     .momentum = spec_.momentum,
                                     .nesterov = spec_.nesterov,
                                     .weight_decay = spec_.weight_decay.value_or(0)};
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::sgd_update(step, b.gradients, a.n, b.weights, spec_.momentum != 0 ? b.slots[0] : nullptr);
  }

 private:
  const nn::SGDSpec& spec_;
};

const RegisteredOptimizerOp kCpuSgd = optimizer_op<nn::SGDSpec, SGDOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
