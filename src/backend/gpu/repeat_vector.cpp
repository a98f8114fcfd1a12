#include "nn/reshaping.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/merge.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// A sum of one input that is spread over the copies.
class RepeatVectorOp final : public GpuOp {
 public:
  RepeatVectorOp(const nn::RepeatVectorSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_({{1, context.input(0)[0]}}, {spec.n, context.input(0)[0]}) {}

  void forward(const OpArgs& a) override {
    kernel::add_forward(at(a), type_, merge_, a.inputs.data(), a.rows, false, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::add_backward(at(a), type_, merge_, 0, nullptr, a.dy<void>(), a.rows, a.input_gradients[0]);
  }

 private:
  kernel::Merge merge_;
};

const RegisteredOp kRepeatVector = op<nn::RepeatVectorSpec, RepeatVectorOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
