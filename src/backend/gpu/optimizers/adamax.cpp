#include "nn/optimizers.h"

#include "backend/gpu/optimizers/adam_pass.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class AdamaxOp final : public GpuOptimizer {
 public:
  AdamaxOp(const nn::AdamaxSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void describe(const nn::UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] = args.learning_rate / bias_correction(spec_.beta_1, args);
  }

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::adamax_update(at(a), adam_pass(spec_), state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1]);
  }

 private:
  const nn::AdamaxSpec& spec_;
};

const RegisteredOptimizerOp kAdamax = optimizer_op<nn::AdamaxSpec, AdamaxOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
