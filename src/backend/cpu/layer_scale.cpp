#include "nn/normalization.h"

#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "kernels/cpu/affine.h"

namespace dptrain::backend::cpu {
namespace {

class LayerScaleOp final : public Op {
 public:
  LayerScaleOp(const nn::LayerScaleSpec&, const OpContext& context, Device&)
      : channels_(context.output().back()), positions_(context.output().elements() / channels_) {
    if (context.step.has_backward && context.step.parameter_gradients[0])
      scratch_ = workspace_bytes(context.rows, [&](std::int64_t rows) {
        return kernels::cpu::channel_scale_workspace(rows * positions_, channels_);
      });
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { scale(a, a.in(), a.out()); }
  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] != nullptr)
      kernels::cpu::channel_scale_gradient(a.in(), a.dy(), a.rows * positions_, channels_,
                                           static_cast<float*>(a.scratch), a.weight_gradients[0]);
    if (a.dx() != nullptr) scale(a, a.dy(), a.dx());
  }

 private:
  void scale(const OpArgs& a, const float* x, float* y) const {
    kernels::cpu::periodic_affine(x, nullptr, a.weights[0], nullptr, channels_, a.rows * positions_ * channels_, y);
  }

  std::int64_t channels_, positions_;
  std::uint64_t scratch_ = 0;
};

const RegisteredOp kCpuLayerScale = op<nn::LayerScaleSpec, LayerScaleOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
