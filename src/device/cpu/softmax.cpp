#include "layers/softmax.h"

#include "device/device.h"
#include "kernels/cpu/softmax.h"

namespace dptrain::device::cpu {
namespace {

class SoftmaxOp final : public Op {
 public:
  SoftmaxOp(const layers::SoftmaxSpec&, const OpContext& context, Device&)
      : classes_(context.output().back()), positions_(context.output().elements() / classes_) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::softmax_forward(a.inputs[0], a.rows * positions_, classes_, a.output);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::softmax_backward(a.output, a.output_gradient, a.rows * positions_, classes_, a.input_gradients[0]);
  }

 private:
  std::int64_t classes_, positions_;
};

const RegisteredOp kCpuSoftmax = op<layers::SoftmaxSpec, SoftmaxOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
