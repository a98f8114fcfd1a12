#include "nn/activations.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/softmax.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class SoftmaxOp final : public GpuOp {
 public:
  SoftmaxOp(const nn::SoftmaxSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device),
        classes_(width_of(context.output())),
        positions_(context.output().elements() / classes_) {}

  void forward(const OpArgs& a) override {
    kernel::softmax_forward(at(a), type_, a.inputs[0], a.rows * positions_, classes_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::softmax_backward(at(a), type_, a.out<void>(), a.dy<void>(), a.rows * positions_, classes_,
                             a.input_gradients[0]);
  }

 private:
  std::int64_t classes_, positions_;
};

const RegisteredOp kSoftmax = op<nn::SoftmaxSpec, SoftmaxOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
