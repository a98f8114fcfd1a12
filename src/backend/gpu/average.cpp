#include "nn/merging.h"

#include "backend/gpu/gpu_op.h"
#include "backend/gpu/merge_shapes.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class AverageOp final : public GpuOp {
 public:
  AverageOp(const nn::AverageSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)) {}

  void forward(const OpArgs& a) override {
    kernel::average_forward(at(a), type_, merge_, a.inputs.data(), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    const float share = 1.0F / static_cast<float>(merge_.inputs);
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::scaled_backward(at(a), type_, merge_, i, share, a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
};

const RegisteredOp kAverage = op<nn::AverageSpec, AverageOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
