#include "nn/pooling.h"

#include "backend/device.h"
#include "backend/pool_window.h"
#include "backend/tail.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

/// Keeps one byte per output: which of the window was the largest.
class MaxPooling2DOp final : public Op {
 public:
  MaxPooling2DOp(const nn::MaxPooling2DSpec& spec, const OpContext& context, Device& device)
      : window_(max_pool_window(spec, context, device)),
        undoes_relu_(static_cast<bool>(context.step.undoes)),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * context.output().elements()) : 0) {
  }

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::uint8_t*>(a.saved) : nullptr;
    kernels::cpu::max_pool_forward(window_, a.in(), a.rows, a.out(), argmax);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::max_pool_backward(window_, a.dy(), static_cast<const std::uint8_t*>(a.saved),
                                    undoes_relu_ ? a.out() : nullptr, a.rows, a.dx());
  }

 private:
  kernels::cpu::PoolWindow window_;
  bool undoes_relu_;
  std::uint64_t saved_;
};

const RegisteredOp kCpuMaxPooling2D =
    op<nn::MaxPooling2DSpec, MaxPooling2DOp>(DeviceKind::kCpu, {.undoes = {undoes_relu()}});

}  // namespace
}  // namespace dptrain::backend::cpu
