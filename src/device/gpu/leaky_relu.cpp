#include "layers/leaky_relu.h"

#include "device/gpu/gpu_op.h"
#include "kernels/cuda/activation.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

using Kernel = kernel::Activation;

/// The slope is not negative, so signs of input and output agree and backward reads the output alone.
class LeakyReLUOp final : public GpuOp {
 public:
  LeakyReLUOp(const layers::LeakyReLUSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), slope_(spec.negative_slope), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::activation_forward(at(a), type_, Kernel::leaky_relu, slope_, a.inputs[0], a.output, a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::activation_backward_from_output(at(a), type_, Kernel::leaky_relu, slope_, a.output, a.output_gradient,
                                            a.input_gradients[0], a.rows * elements_);
  }

 private:
  float slope_;
  std::int64_t elements_;
};

const RegisteredOp kLeakyReLU = op<layers::LeakyReLUSpec, LeakyReLUOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
