#include "nn/optimizers.h"

#include "backend/gpu/optimizers/gpu_optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class SGDOp final : public GpuOptimizer {
 public:
  SGDOp(const nn::SGDSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const kernel::SgdPass pass{.momentum = spec_.momentum, .nesterov = spec_.nesterov, .weight_decay = weight_decay_};
    const UpdateBuffers& b = a.buffers;
    kernel::sgd_update(at(a), pass, state(a), b.gradients, a.n, weights(a), spec_.momentum != 0 ? b.slots[0] : nullptr);
  }

 private:
  const nn::SGDSpec& spec_;
};

const RegisteredOptimizerOp kSgd = optimizer_op<nn::SGDSpec, SGDOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
