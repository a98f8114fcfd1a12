#include "nn/normalization.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/merge.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class CustomScaleLayerOp final : public GpuOp {
 public:
  CustomScaleLayerOp(const nn::CustomScaleLayerSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), scale_(static_cast<float>(spec.scale)), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::add_scaled(at(a), type_, a.inputs[0], a.inputs[1], scale_, a.rows * elements_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    const std::int64_t n = a.rows * elements_;
    if (void* const dx = a.input_gradients[1]; dx != nullptr) kernel::scale(at(a), type_, scale_, a.dy<void>(), dx, n);
    if (void* const dx = a.input_gradients[0]; dx != nullptr) kernel::copy(at(a), type_, a.dy<void>(), dx, n);
  }

 private:
  float scale_;
  std::int64_t elements_;
};

const RegisteredOp kCustomScaleLayer = op<nn::CustomScaleLayerSpec, CustomScaleLayerOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
