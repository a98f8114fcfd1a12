#include "nn/optimizers.h"

#include "backend/gpu/optimizers/gpu_optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class LionOp final : public GpuOptimizer {
 public:
  LionOp(const nn::LionSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernel::LionPass pass{.beta_1 = spec_.beta_1, .beta_2 = spec_.beta_2, .weight_decay = weight_decay_};
    kernel::lion_update(at(a), pass, state(a), a.buffers.gradients, a.n, weights(a), a.buffers.slots[0]);
  }

 private:
  const nn::LionSpec& spec_;
};

const RegisteredOptimizerOp kLion = optimizer_op<nn::LionSpec, LionOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
