#include "nn/convolutions.h"

#include <algorithm>

#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv2d_shape.h"
#include "backend/cpu/conv/convolution.h"
#include "backend/cpu/cpu_device.h"
#include "backend/device.h"
#include "backend/ops/activations.h"
#include "kernels/cpu/gemm_forward.h"
#include "nn/normalization.h"
#include "nn/pooling.h"
#include "plan/neighbours.h"

namespace dptrain::backend::cpu {
namespace {

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place, and all are undone in the gradient
/// of the output before the backward passes. With a pooling behind it, one byte of each output is kept instead, and the
/// backward passes undo both themselves.
///
/// Where a batch normalisation runs in front of it or behind it, that one's pass over what the convolution reads or
/// writes goes along with the convolution's own (piecewise.h).
class Conv2DOp final : public Op {
 public:
  Conv2DOp(const nn::Conv2DSpec& spec, const OpContext& context, Device& device)
      : shape_(shape_of(spec, context)),
        epilogue_(context),
        wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
        wants_dweights_(context.step.has_backward && context.step.parameter_gradients[0]),
        taken_bytes_(shape_.pool && context.step.has_backward
                         ? static_cast<std::uint64_t>(context.rows * context.output().elements())
                         : 0),
        convolution_(shape_, {.forward = true, .data = wants_dx_, .weights = wants_dweights_}, device.options(),
                     static_cast<CpuDevice&>(device).dnnl()) {
    prepare(context.rows);
    implementation_ = convolution_.describe(context.rows);
  }

  void prepare(std::int64_t rows) override { convolution_.prepare(rows); }
  Along takes_along() const override {
    const bool pieces = convolution_.takes_pieces(ConvPassKind::kForward) && !epilogue_.follows(shape_.relu);
    return {.before = pieces && kernels::cpu::gemm_forward_pairs(shape_), .after = pieces};
  }
  plan::Need need() const override { return {.saved = taken_bytes_, .scratch = convolution_.planned_scratch()}; }
  std::string implementation() const override { return implementation_; }

  void forward(const OpArgs& a) override {
    convolution_.run(ConvPassKind::kForward, a.rows,
                     {.x = a.in(),
                      .weights = a.weights[0],
                      .bias = shape_.bias ? a.weights[1] : nullptr,
                      .y = a.out(),
                      .taken = a.training ? taken(a) : nullptr,
                      .before = a.before,
                      .after = a.after},
                     a.scratch);
    if (!shape_.relu) epilogue_.apply({}, a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    if (!shape_.pool) epilogue_.undo({}, a.out(), a.dy(), a.rows);
    float* const dweights = wants_dweights_ ? a.weight_gradients[0] : nullptr;
    convolution_.run_backward(a.rows,
                              {.x = a.in(),
                               .weights = a.weights[0],
                               .dy = a.dy(),
                               .dx = wants_dx_ ? a.dx() : nullptr,
                               .dweights = dweights,
                               .dbias = dweights != nullptr && shape_.bias ? a.weight_gradients[1] : nullptr,
                               .taken = taken(a)},
                              a.scratch);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = convolution_.flops();
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  static ConvShape shape_of(const nn::Conv2DSpec& spec, const OpContext& context) {
    ConvShape shape = conv2d_shape(spec, context.input(0));
    shape.relu = plan::tail_activation(context.step).activation == nn::Activation::kRelu;
    shape.pool = plan::tail_has<nn::MaxPooling2DSpec>(context.step);
    shape.pairs = !Epilogue(context).follows(shape.relu) && is_normalised(context.plan, context.step);
    return shape;
  }

  /// Whether a normalisation that is not frozen runs in front of the step or, where it is trained itself, behind it: a
  /// frozen prefix computes the same with and without what stands behind. Steps of an op around this one are not the
  /// plan's.
  static bool is_normalised(const plan::Plan& plan, const plan::Step& step) {
    const auto place = std::ranges::find(plan.steps, &step, [](const plan::Step& s) { return &s; });
    if (place == plan.steps.end()) return false;
    const auto s = static_cast<std::size_t>(place - plan.steps.begin());
    const auto is = [&](std::size_t other) {
      const plan::Step& its = plan.steps[other];
      return !its.inference_mode && its.spec.get_if<nn::BatchNormalizationSpec>() != nullptr;
    };
    if (s > 0 && plan::hands_on(plan, s - 1) && is(s - 1)) return true;
    return plan::hands_on(plan, s) && is(s + 1) && std::ranges::any_of(step.parameters, [&](int p) {
             return plan.parameters[static_cast<std::size_t>(p)].kind != plan::ParameterKind::kFrozen;
           });
  }

  std::uint8_t* taken(const OpArgs& a) const {
    return taken_bytes_ > 0 ? static_cast<std::uint8_t*>(a.saved) : nullptr;
  }

  ConvShape shape_;  // rows unset
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  std::uint64_t taken_bytes_;  // of ConvTensors::taken, which is all that is saved
  Convolution convolution_;
  std::string implementation_;
};

/// Max-poolings of 2x2 that cover every output, last in the tail, where a kernel computes them: it keeps which of four
/// outputs was the largest, and whether that was positive, so backward reads no output.
std::optional<plan::TailFusion> takes_pooling(const nn::MaxPooling2DSpec& pool, const plan::Follower& follower,
                                              const Device& device) {
  const nn::Activation activation = plan::tail_activation(follower.step).activation;
  if (activation != nn::Activation::kLinear && activation != nn::Activation::kRelu) return std::nullopt;
  if (plan::tail_has<nn::MaxPooling2DSpec>(follower.step)) return std::nullopt;
  ConvShape shape = conv2d_shape(follower.step.spec.as<nn::Conv2DSpec>(), follower.inputs.front());
  shape.relu = activation == nn::Activation::kRelu;
  shape.pool = true;
  shape.bfloat16 = device.options().bfloat16_products;
  const Size2 two{2, 2};
  // "same" over an even size pads nothing.
  const bool covers = pool.padding == nn::Padding::kValid || (shape.out_h % 2 == 0 && shape.out_w % 2 == 0);
  const ConvChoice choice = device.options().conv;
  if (pool.pool_size != two || pool.strides.value_or(two) != two || !covers ||
      !computes_pooling(ConvPassKind::kForward, shape, choice) ||
      !computes_pooling(ConvPassKind::kBackwardWeights, shape, choice))
    return std::nullopt;
  return plan::TailFusion{};
}

const RegisteredOp kCpuConv2D = op<nn::Conv2DSpec, Conv2DOp>(
    DeviceKind::kCpu, {.fuses = {takes_activation(), fuses<nn::MaxPooling2DSpec>(takes_pooling)}});

}  // namespace
}  // namespace dptrain::backend::cpu
