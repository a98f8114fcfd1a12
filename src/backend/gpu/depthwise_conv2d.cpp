#include "nn/convolutions.h"

#include <algorithm>

#include "backend/depthwise_shape.h"
#include "backend/gpu/gpu_op.h"
#include "backend/ops/activations.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/depthwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place.
class DepthwiseConv2DOp final : public GpuOp {
 public:
  DepthwiseConv2DOp(const nn::DepthwiseConv2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        shape_(depthwise_shape(spec, context.input(0))),
        bias_(spec.use_bias),
        epilogue_(context),
        has_backward_(context.step.has_backward),
        passes_((has_backward_ && context.step.input_gradients[0] != plan::kAbsent ? 1 : 0) +
                (has_backward_ && context.step.parameter_gradients[0] ? 1 : 0)),
        rows_(context.rows) {}

  plan::Need need() const override {
    if (!has_backward_) return {};
    std::int64_t floats = kernel::depthwise_workspace(type_, shape_, rows_);
    for (std::int64_t rows = 1; bias_ && rows <= rows_; ++rows)  // does not grow evenly
      floats =
          std::max(floats, kernel::bias_gradient_workspace(rows * shape_.out_h * shape_.out_w, shape_.out_channels()));
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(floats) * sizeof(float)};
  }

  void forward(const OpArgs& a) override {
    kernel::depthwise_forward(at(a), type_, shape_, a.inputs[0], a.weights[0], bias_ ? a.weights[1] : nullptr,
                              epilogue_.is_relu(), a.rows, a.out<void>());
    if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    auto* const workspace = static_cast<float*>(a.scratch);
    epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    if (a.weight_gradients[0] != nullptr)
      kernel::depthwise_backward_weights(at(a), type_, shape_, a.inputs[0], a.dy<void>(), a.rows, workspace,
                                         a.weight_gradients[0]);
    if (bias_ && a.weight_gradients[1] != nullptr)
      kernel::bias_gradient(at(a), type_, a.dy<void>(), a.rows * shape_.out_h * shape_.out_w, shape_.out_channels(),
                            workspace, a.weight_gradients[1]);
    if (a.input_gradients[0] != nullptr)
      kernel::depthwise_backward_data(at(a), type_, shape_, a.dy<void>(), a.weights[0], a.rows, a.input_gradients[0]);
  }

  std::pair<double, double> flops_per_sample() const override {
    return {backend::flops(shape_), backend::flops(shape_) * passes_};
  }

 private:
  kernels::DepthwiseShape shape_;
  bool bias_;
  Epilogue epilogue_;
  bool has_backward_;
  int passes_;  // backward
  std::int64_t rows_;
};

const RegisteredOp kDepthwiseConv2D =
    op<nn::DepthwiseConv2DSpec, DepthwiseConv2DOp>(kKind, {.fuses = {takes_activation()}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
