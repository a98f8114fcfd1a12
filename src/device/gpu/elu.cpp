#include "layers/elu.h"

#include "device/gpu/gpu_op.h"
#include "kernels/cuda/activation.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

using Kernel = kernel::Activation;

/// alpha is not negative, so signs of input and output agree and backward reads the output alone.
class ELUOp final : public GpuOp {
 public:
  ELUOp(const layers::ELUSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), alpha_(spec.alpha), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::activation_forward(at(a), type_, Kernel::elu, alpha_, a.inputs[0], a.output, a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::activation_backward_from_output(at(a), type_, Kernel::elu, alpha_, a.output, a.output_gradient,
                                            a.input_gradients[0], a.rows * elements_);
  }

 private:
  float alpha_;
  std::int64_t elements_;
};

const RegisteredOp kELU = op<layers::ELUSpec, ELUOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
