#include "layers/elu.h"

#include "device/device.h"
#include "kernels/cpu/activation.h"

namespace dptrain::device::cpu {
namespace {

using Kernel = kernels::cpu::Activation;

/// alpha is not negative, so signs of input and output agree and backward reads the output alone.
class ELUOp final : public Op {
 public:
  ELUOp(const layers::ELUSpec& spec, const OpContext& context, Device&)
      : alpha_(spec.alpha), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::activation_forward(Kernel::elu, alpha_, a.in(), a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::activation_backward_from_output(Kernel::elu, alpha_, a.out(), a.dy(), a.dx(), a.rows * elements_);
  }

 private:
  float alpha_;
  std::int64_t elements_;
};

const RegisteredOp kCpuELU = op<layers::ELUSpec, ELUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
