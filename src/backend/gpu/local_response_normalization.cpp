#include "nn/normalization.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/lrn.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Backward computes the sums again: cheaper than keeping a tensor as large as the input.
class LocalResponseNormalizationOp final : public GpuOp {
 public:
  LocalResponseNormalizationOp(const nn::LocalResponseNormalizationSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        lrn_{.radius = spec.depth_radius, .bias = spec.bias, .alpha = spec.alpha, .beta = spec.beta},
        pixels_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]) {}

  void forward(const OpArgs& a) override {
    kernel::lrn_forward(at(a), type_, lrn_, a.inputs[0], a.rows * pixels_, channels_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::lrn_backward(at(a), type_, lrn_, a.inputs[0], a.dy<void>(), a.rows * pixels_, channels_,
                         a.input_gradients[0]);
  }

 private:
  kernel::Lrn lrn_;
  std::int64_t pixels_, channels_;
};

const RegisteredOp kLocalResponseNormalization =
    op<nn::LocalResponseNormalizationSpec, LocalResponseNormalizationOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
