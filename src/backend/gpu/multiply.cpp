#include "nn/merging.h"

#include "backend/gpu/gpu_op.h"
#include "backend/gpu/masked_fill.h"
#include "backend/gpu/merge_shapes.h"
#include "backend/masked_inputs.h"
#include "kernels/cuda/masked_steps.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// The gradient of an input is the output's gradient times all other inputs, summed where the input was spread.
class MultiplyOp final : public GpuOp {
 public:
  MultiplyOp(const nn::MultiplySpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), masked_(context, 1.0F, 0.0F), merge_(merge_of(context)) {}

  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch()}; }

  void forward(const OpArgs& a) override {
    kernel::multiply_forward(at(a), type_, merge_, inputs(a), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    const void* const* const x = inputs(a);
    for (int i = 0; i < merge_.inputs; ++i) {
      void* const dx = a.input_gradients[static_cast<std::size_t>(i)];
      if (dx == nullptr) continue;
      kernel::multiply_backward(at(a), type_, merge_, i, x, a.dy<void>(), a.rows, dx);
      masked_.end_gradient(a, static_cast<std::size_t>(i),
                           [&](const std::uint8_t* mask, std::int64_t steps, std::int64_t width) {
                             kernel::keep_valid_steps(at(a), type_, dx, mask, steps, width, dx);
                           });
    }
  }

 private:
  const void* const* inputs(const OpArgs& a) { return masked_.read(a, a.scratch, masked_fill(at(a), type_)).data(); }

  MaskedInputs masked_;
  kernel::Merge merge_;
};

const RegisteredOp kMultiply = op<nn::MultiplySpec, MultiplyOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
