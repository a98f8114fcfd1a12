#include "nn/optimizers.h"

#include "backend/optimizer_op.h"
#include "kernels/cpu/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

class AdagradOp final : public OptimizerOp {
 public:
  AdagradOp(const nn::AdagradSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernels::cpu::AdagradStep step{.learning_rate = a.update.learning_rate,
                                         .epsilon = spec_.epsilon,
                                         .weight_decay = spec_.weight_decay.value_or(0)};
    kernels::cpu::adagrad_update(step, a.buffers.gradients, a.n, a.buffers.weights, a.buffers.slots[0]);
  }

 private:
  const nn::AdagradSpec& spec_;
};

const RegisteredOptimizerOp kCpuAdagrad = optimizer_op<nn::AdagradSpec, AdagradOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
