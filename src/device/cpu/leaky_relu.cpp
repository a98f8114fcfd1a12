#include "layers/leaky_relu.h"

#include "device/device.h"
#include "kernels/cpu/activation.h"

namespace dptrain::device::cpu {
namespace {

using Kernel = kernels::cpu::Activation;

/// The slope is not negative, so signs of input and output agree and backward reads the output alone.
class LeakyReLUOp final : public Op {
 public:
  LeakyReLUOp(const layers::LeakyReLUSpec& spec, const OpContext& context, Device&)
      : slope_(spec.negative_slope), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::activation_forward(Kernel::leaky_relu, slope_, a.in(), a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::activation_backward_from_output(Kernel::leaky_relu, slope_, a.out(), a.dy(),
                                                  a.dx(), a.rows * elements_);
  }

 private:
  float slope_;
  std::int64_t elements_;
};

const RegisteredOp kCpuLeakyReLU = op<layers::LeakyReLUSpec, LeakyReLUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
