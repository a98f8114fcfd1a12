#include "nn/normalization.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/affine.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class LayerScaleOp final : public GpuOp {
 public:
  LayerScaleOp(const nn::LayerScaleSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device),
        channels_(context.output().back()),
        positions_(context.output().elements() / channels_) {
    if (context.step.has_backward && context.step.parameter_gradients[0])
      scratch_ = static_cast<std::uint64_t>(kernel::channel_scale_workspace(context.rows * positions_, channels_)) *
                 sizeof(float);
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { scale(a, a.inputs[0], a.out<void>()); }
  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] != nullptr)
      kernel::channel_scale_gradient(at(a), type_, a.inputs[0], a.dy<void>(), a.rows * positions_, channels_,
                                     static_cast<float*>(a.scratch), a.weight_gradients[0]);
    if (a.input_gradients[0] != nullptr) scale(a, a.dy<void>(), a.input_gradients[0]);
  }

 private:
  void scale(const OpArgs& a, const void* x, void* y) const {
    kernel::channel_scale(at(a), type_, x, a.weights[0], a.rows * positions_, channels_, y);
  }

  std::int64_t channels_, positions_;
  std::uint64_t scratch_ = 0;
};

const RegisteredOp kLayerScale = op<nn::LayerScaleSpec, LayerScaleOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
