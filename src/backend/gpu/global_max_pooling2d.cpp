#include "nn/pooling.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/pool.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Keeps the position of each channel's largest value.
class GlobalMaxPooling2DOp final : public GpuOp {
 public:
  GlobalMaxPooling2DOp(const nn::GlobalMaxPooling2DSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device),
        spatial_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * channels_) * sizeof(std::int32_t)
                                         : 0) {}

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::int32_t*>(a.saved) : nullptr;
    kernel::global_max_forward(at(a), type_, a.inputs[0], a.rows, spatial_, channels_, a.out<void>(), argmax);
  }
  void backward(const OpArgs& a) override {
    kernel::global_max_backward(at(a), type_, a.dy<void>(), static_cast<const std::int32_t*>(a.saved), a.rows, spatial_,
                                channels_, a.input_gradients[0]);
  }

 private:
  std::int64_t spatial_, channels_;
  std::uint64_t saved_;
};

const RegisteredOp kGlobalMaxPooling2D = op<nn::GlobalMaxPooling2DSpec, GlobalMaxPooling2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
