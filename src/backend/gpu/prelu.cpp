#include "nn/activations.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/prelu.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class PReLUOp final : public GpuOp {
 public:
  PReLUOp(const nn::PReLUSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device),
        prelu_(context.input(0).dims(),
               context.plan.parameters[static_cast<std::size_t>(context.step.parameters[0])].shape.dims()) {
    if (context.trains())
      scratch_ = static_cast<std::uint64_t>(kernel::prelu_workspace(prelu_, context.rows)) * sizeof(float);
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override {
    kernel::prelu_forward(at(a), type_, prelu_, a.inputs[0], a.weights[0], a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] != nullptr)
      kernel::prelu_alpha_gradient(at(a), type_, prelu_, a.inputs[0], a.dy<void>(), a.rows,
                                   static_cast<float*>(a.scratch), a.weight_gradients[0]);
    if (a.input_gradients[0] != nullptr)
      kernel::prelu_input_gradient(at(a), type_, prelu_, a.inputs[0], a.dy<void>(), a.weights[0], a.rows,
                                   a.input_gradients[0]);
  }

 private:
  kernel::PRelu prelu_;
  std::uint64_t scratch_ = 0;
};

const RegisteredOp kPReLU = op<nn::PReLUSpec, PReLUOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
