#include "nn/optimizers.h"

#include "backend/gpu/optimizers/adam_pass.h"
#include "kernels/nadam_momenta.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class NadamOp final : public GpuOptimizer {
 public:
  NadamOp(const nn::NadamSpec& spec, const UpdateContext& context, Device& device)
      : GpuOptimizer(spec, context, device), spec_(spec) {}

  void describe(const nn::UpdateArgs& args, kernels::StepState& state) const override {
    const kernels::NadamFactors factors = kernels::nadam_factors(spec_.beta_1, spec_.beta_2, args.step + 1);
    state.hyper[0] = factors.average;
    state.hyper[1] = factors.gradient;
    state.hyper[2] = factors.square;
  }

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::nadam_update(at(a), adam_pass(spec_), state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1]);
  }

 private:
  const nn::NadamSpec& spec_;
};

const RegisteredOptimizerOp kNadam = optimizer_op<nn::NadamSpec, NadamOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
