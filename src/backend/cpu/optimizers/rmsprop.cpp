#include "nn/optimizers.h"

#include "backend/optimizer_op.h"
#include "kernels/cpu/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

class RMSpropOp final : public OptimizerOp {
 public:
  RMSpropOp(const nn::RMSpropSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  /// Slots: velocity, then momentum and the average gradient where there are any.
  void run(const OptimizerArgs& a) override {
    const kernels::cpu::RmspropStep step{.learning_rate = a.update.learning_rate,
                                         .rho = spec_.rho,
                                         .momentum = spec_.momentum,
                                         .epsilon = spec_.epsilon,
                                         .weight_decay = spec_.weight_decay.value_or(0)};
    const bool momentum = spec_.momentum > 0;
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::rmsprop_update(step, b.gradients, a.n, b.weights, b.slots[0], momentum ? b.slots[1] : nullptr,
                                 spec_.centered ? b.slots[momentum ? 2 : 1] : nullptr);
  }

 private:
  const nn::RMSpropSpec& spec_;
};

const RegisteredOptimizerOp kCpuRmsprop = optimizer_op<nn::RMSpropSpec, RMSpropOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
