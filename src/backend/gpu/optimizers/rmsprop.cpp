#include "nn/optimizers.h"

#include "backend/gpu/optimizers/gpu_optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class RMSpropOp final : public GpuOptimizer {
 public:
  RMSpropOp(const nn::RMSpropSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  /// Slots: velocity, then momentum and the average gradient where there are any.
  void run(const OptimizerArgs& a) override {
    const kernel::RmspropPass pass{
        .rho = spec_.rho, .momentum = spec_.momentum, .epsilon = spec_.epsilon, .weight_decay = weight_decay_};
    const bool momentum = spec_.momentum > 0;
    const UpdateBuffers& b = a.buffers;
    kernel::rmsprop_update(at(a), pass, state(a), b.gradients, a.n, weights(a), b.slots[0],
                           momentum ? b.slots[1] : nullptr, spec_.centered ? b.slots[momentum ? 2 : 1] : nullptr);
  }

 private:
  const nn::RMSpropSpec& spec_;
};

const RegisteredOptimizerOp kRmsprop = optimizer_op<nn::RMSpropSpec, RMSpropOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
