#include "nn/merging.h"

#include "backend/gpu/gpu_op.h"
#include "backend/gpu/merge_shapes.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class SubtractOp final : public GpuOp {
 public:
  SubtractOp(const nn::SubtractSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)) {}

  void forward(const OpArgs& a) override {
    kernel::subtract_forward(at(a), type_, merge_, a.inputs.data(), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::scaled_backward(at(a), type_, merge_, i, i == 0 ? 1.0F : -1.0F, a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
};

const RegisteredOp kSubtract = op<nn::SubtractSpec, SubtractOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
