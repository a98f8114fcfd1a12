#include "nn/convolutions.h"

#include <algorithm>

#include "backend/cpu/conv/convolution.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/workspace.h"
#include "backend/depthwise_shape.h"
#include "backend/device.h"
#include "backend/ops/activations.h"
#include "kernels/cpu/depthwise.h"

namespace dptrain::backend::cpu {
namespace {

/// Depthwise, then pointwise as a 1x1 convolution with bias and ReLU. What is between them is kept where the pointwise
/// kernel is trained; its gradient lies in scratch.
class SeparableConv2DOp final : public Op {
 public:
  SeparableConv2DOp(const nn::SeparableConv2DSpec& spec, const OpContext& context, Device& device)
      : depthwise_(depthwise_shape(spec, context.input(0))),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
        wants_depthwise_(wants(context, 0)),
        wants_pointwise_(wants(context, 1)),
        between_bytes_(aligned(static_cast<std::uint64_t>(context.rows * result_elements(depthwise_)) * sizeof(float))),
        workspace_bytes_(wants_depthwise_
                             ? workspace_bytes(context.rows,
                                               [&](std::int64_t rows) {
                                                 return kernels::cpu::depthwise_workspace(depthwise_, rows);
                                               })
                             : 0),
        pointwise_({pointwise_window(depthwise_, spec.filters), 0, spec.use_bias, epilogue_.is_relu()},
                   {.forward = true, .data = wants_dx_ || wants_depthwise_, .weights = wants_pointwise_},
                   device.options(), static_cast<CpuDevice&>(device).dnnl()) {
    prepare(context.rows);
    implementation_ = "pointwise " + pointwise_.describe(context.rows);
  }

  void prepare(std::int64_t rows) override { pointwise_.prepare(rows); }
  plan::Need need() const override {
    return {.saved = wants_pointwise_ ? between_bytes_ : 0,
            .scratch = between_bytes_ + std::max<std::uint64_t>(workspace_bytes_, pointwise_.planned_scratch())};
  }
  std::string implementation() const override { return implementation_; }

  void forward(const OpArgs& a) override {
    float* const between = wants_pointwise_ && a.training ? static_cast<float*>(a.saved) : between_in(a.scratch);
    kernels::cpu::depthwise_forward(depthwise_, a.in(), a.weights[0], nullptr, false, a.rows, between);
    pointwise_.run(ConvPassKind::kForward, a.rows,
                   {.x = between, .weights = a.weights[1], .bias = bias_ ? a.weights[2] : nullptr, .y = a.out()},
                   workspace_in(a.scratch));
    if (!epilogue_.is_relu()) epilogue_.apply({}, a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    epilogue_.undo({}, a.out(), a.dy(), a.rows);
    void* const workspace = workspace_in(a.scratch);
    if (wants_pointwise_ && a.weight_gradients[1] != nullptr)
      pointwise_.run(ConvPassKind::kBackwardWeights, a.rows,
                     {.x = static_cast<const float*>(a.saved),
                      .dy = a.dy(),
                      .dweights = a.weight_gradients[1],
                      .dbias = bias_ ? a.weight_gradients[2] : nullptr},
                     workspace);
    if (!pointwise_.wants(ConvPassKind::kBackwardData)) return;
    float* const gradient = between_in(a.scratch);
    pointwise_.run(ConvPassKind::kBackwardData, a.rows, {.weights = a.weights[1], .dy = a.dy(), .dx = gradient},
                   workspace);
    if (wants_depthwise_ && a.weight_gradients[0] != nullptr)
      kernels::cpu::depthwise_backward_weights(depthwise_, a.in(), gradient, a.rows, static_cast<float*>(workspace),
                                               a.weight_gradients[0]);
    if (wants_dx_ && a.dx() != nullptr)
      kernels::cpu::depthwise_backward_data(depthwise_, gradient, a.weights[0], a.rows, a.dx());
  }

  std::pair<double, double> flops_per_sample() const override {
    const double spread = flops(depthwise_), mix = pointwise_.flops();
    return {spread + mix, spread * (int{wants_dx_} + int{wants_depthwise_}) +
                              mix * (int{wants_dx_ || wants_depthwise_} + int{wants_pointwise_})};
  }

 private:
  static constexpr std::uint64_t kAlign = 64;
  static std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
  static bool wants(const OpContext& context, std::size_t weight) {
    return context.step.has_backward && context.step.parameter_gradients[weight];
  }

  static float* between_in(void* scratch) { return static_cast<float*>(scratch); }
  void* workspace_in(void* scratch) const { return static_cast<std::byte*>(scratch) + between_bytes_; }

  kernels::DepthwiseShape depthwise_;
  bool bias_;
  Epilogue epilogue_;
  bool wants_dx_, wants_depthwise_, wants_pointwise_;
  std::uint64_t between_bytes_, workspace_bytes_;
  Convolution pointwise_;
  std::string implementation_;
};

const RegisteredOp kCpuSeparableConv2D =
    op<nn::SeparableConv2DSpec, SeparableConv2DOp>(DeviceKind::kCpu, {.fuses = {takes_activation()}});

}  // namespace
}  // namespace dptrain::backend::cpu
