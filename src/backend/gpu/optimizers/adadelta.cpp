#include "nn/optimizers.h"

#include "backend/gpu/optimizers/gpu_optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class AdadeltaOp final : public GpuOptimizer {
 public:
  AdadeltaOp(const nn::AdadeltaSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernel::AdadeltaPass pass{.rho = spec_.rho, .epsilon = spec_.epsilon, .weight_decay = weight_decay_};
    const UpdateBuffers& b = a.buffers;
    kernel::adadelta_update(at(a), pass, state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1]);
  }

 private:
  const nn::AdadeltaSpec& spec_;
};

const RegisteredOptimizerOp kAdadelta = optimizer_op<nn::AdadeltaSpec, AdadeltaOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
