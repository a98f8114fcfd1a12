#include "nn/pooling.h"

#include "backend/gpu/gpu_op.h"
#include "backend/pool_window.h"
#include "backend/tail.h"
#include "kernels/cuda/pool.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Keeps one byte per output: which of the window was the largest.
class MaxPooling2DOp final : public GpuOp {
 public:
  MaxPooling2DOp(const nn::MaxPooling2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        window_(max_pool_window(spec, context, device)),
        undoes_relu_(static_cast<bool>(context.step.undoes)),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * context.output().elements()) : 0) {
  }

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::uint8_t*>(a.saved) : nullptr;
    kernel::max_pool_forward(at(a), type_, window_, a.inputs[0], a.rows, a.out<void>(), argmax);
  }
  void backward(const OpArgs& a) override {
    kernel::max_pool_backward(at(a), type_, window_, a.dy<void>(), static_cast<const std::uint8_t*>(a.saved),
                              undoes_relu_ ? a.out<void>() : nullptr, a.rows, a.input_gradients[0]);
  }

 private:
  kernel::PoolWindow window_;
  bool undoes_relu_;
  std::uint64_t saved_;
};

const RegisteredOp kMaxPooling2D = op<nn::MaxPooling2DSpec, MaxPooling2DOp>(kKind, {.undoes = {undoes_relu()}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
