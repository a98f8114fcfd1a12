#include "nn/convolutions.h"

#include <algorithm>

#include "backend/cpu/workspace.h"
#include "backend/depthwise_shape.h"
#include "backend/device.h"
#include "backend/ops/activations.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place.
class DepthwiseConv2DOp final : public Op {
 public:
  DepthwiseConv2DOp(const nn::DepthwiseConv2DSpec& spec, const OpContext& context, Device&)
      : shape_(depthwise_shape(spec, context.input(0))),
        bias_(spec.use_bias),
        epilogue_(context),
        passes_((context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent ? 1 : 0) +
                (context.step.has_backward && context.step.parameter_gradients[0] ? 1 : 0)),
        workspace_bytes_(context.step.has_backward
                             ? workspace_bytes(context.rows,
                                               [&](std::int64_t rows) {
                                                 return std::max(kernels::cpu::depthwise_workspace(shape_, rows),
                                                                 kernels::cpu::bias_gradient_workspace(
                                                                     positions(rows), shape_.out_channels()));
                                               })
                             : 0) {}

  plan::Need need() const override { return {.saved = 0, .scratch = workspace_bytes_}; }

  void forward(const OpArgs& a) override {
    kernels::cpu::depthwise_forward(shape_, a.in(), a.weights[0], bias_ ? a.weights[1] : nullptr, epilogue_.is_relu(),
                                    a.rows, a.out());
    if (!epilogue_.is_relu()) epilogue_.apply({}, a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    auto* const workspace = static_cast<float*>(a.scratch);
    epilogue_.undo({}, a.out(), a.dy(), a.rows);
    if (a.weight_gradients[0] != nullptr)
      kernels::cpu::depthwise_backward_weights(shape_, a.in(), a.dy(), a.rows, workspace, a.weight_gradients[0]);
    if (bias_ && a.weight_gradients[1] != nullptr)
      kernels::cpu::bias_gradient(a.dy(), positions(a.rows), shape_.out_channels(), workspace, a.weight_gradients[1]);
    if (a.dx() != nullptr) kernels::cpu::depthwise_backward_data(shape_, a.dy(), a.weights[0], a.rows, a.dx());
  }

  std::pair<double, double> flops_per_sample() const override { return {flops(shape_), flops(shape_) * passes_}; }

 private:
  std::int64_t positions(std::int64_t rows) const { return rows * shape_.out_h * shape_.out_w; }

  kernels::DepthwiseShape shape_;
  bool bias_;
  Epilogue epilogue_;
  int passes_;  // backward
  std::uint64_t workspace_bytes_;
};

const RegisteredOp kCpuDepthwiseConv2D =
    op<nn::DepthwiseConv2DSpec, DepthwiseConv2DOp>(DeviceKind::kCpu, {.fuses = {takes_activation()}});

}  // namespace
}  // namespace dptrain::backend::cpu
