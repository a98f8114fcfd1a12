#include "nn/optimizers.h"

#include "backend/gpu/optimizers/gpu_optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class AdagradOp final : public GpuOptimizer {
 public:
  AdagradOp(const nn::AdagradSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernel::AdagradPass pass{.epsilon = spec_.epsilon, .weight_decay = weight_decay_};
    kernel::adagrad_update(at(a), pass, state(a), a.buffers.gradients, a.n, weights(a), a.buffers.slots[0]);
  }

 private:
  const nn::AdagradSpec& spec_;
};

const RegisteredOptimizerOp kAdagrad = optimizer_op<nn::AdagradSpec, AdagradOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
