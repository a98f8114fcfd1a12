#include "nn/optimizers.h"

#include "backend/optimizer_op.h"
#include "kernels/cpu/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

class LionOp final : public OptimizerOp {
 public:
  LionOp(const nn::LionSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernels::cpu::LionStep step{.learning_rate = a.update.learning_rate,
                                      .beta_1 = spec_.beta_1,
                                      .beta_2 = spec_.beta_2,
                                      .weight_decay = spec_.weight_decay.value_or(0)};
    kernels::cpu::lion_update(step, a.buffers.gradients, a.n, a.buffers.weights, a.buffers.slots[0]);
  }

 private:
  const nn::LionSpec& spec_;
};

const RegisteredOptimizerOp kCpuLion = optimizer_op<nn::LionSpec, LionOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
