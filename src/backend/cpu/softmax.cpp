#include "nn/activations.h"

#include "backend/device.h"
#include "kernels/cpu/softmax.h"

namespace dptrain::backend::cpu {
namespace {

class SoftmaxOp final : public Op {
 public:
  SoftmaxOp(const nn::SoftmaxSpec&, const OpContext& context, Device&)
      : classes_(context.output().back()), positions_(context.output().elements() / classes_) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::softmax_forward(a.in(), a.rows * positions_, classes_, a.out());
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::softmax_backward(a.out(), a.dy(), a.rows * positions_, classes_, a.dx());
  }

 private:
  std::int64_t classes_, positions_;
};

const RegisteredOp kCpuSoftmax = op<nn::SoftmaxSpec, SoftmaxOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
