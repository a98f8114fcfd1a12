// Conv2D, Conv2DTranspose, DepthwiseConv2D, SeparableConv2D, Conv3D and Conv3DTranspose.

#include <algorithm>

#include "backend/conv3d_ops.h"
#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_pass.h"
#include "backend/cpu/conv/convolution.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "backend/fusible_passes.h"
#include "backend/geometry.h"
#include "backend/ops/activations.h"
#include "core/format.h"
#include "kernels/cpu/depth_slabs.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/gemm_forward.h"
#include "nn/convolutions.h"
#include "nn/normalization.h"
#include "nn/pooling.h"

namespace dptrain::backend::cpu {
namespace {

/// Rows, relu and pool unset. `input`: [H, W, C].
ConvShape conv2d_shape(const nn::Conv2DSpec& spec, const Shape& input) {
  const auto window = nn::window(input, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  ConvShape shape{conv_window(spec, input, {window.h.out, window.w.out, spec.filters})};
  shape.groups = spec.groups;
  shape.bias = spec.use_bias;
  return shape;
}

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place. Backward first applies their
/// gradients to the gradient of the output. With a fused pooling, one byte per output is saved instead, and the
/// backward passes compute both gradients themselves.
///
/// The passes of an adjacent batch normalization over the convolution's input or output run piece by piece inside the
/// convolution's forward pass (fusible_passes.h).
class Conv2DOp final : public Op {
 public:
  Conv2DOp(const nn::Conv2DSpec& spec, const OpContext& context, Device& device)
      : shape_(shape_of(spec, context)),
        epilogue_(context),
        wants_dx_(context.wants_dx()),
        wants_dweights_(context.trains()),
        argmax_bytes_(shape_.pool && context.step.has_backward
                          ? static_cast<std::uint64_t>(context.rows * context.output().elements())
                          : 0),
        convolution_(shape_, {.forward = true, .data = wants_dx_, .weights = wants_dweights_}, device.options(),
                     static_cast<CpuDevice&>(device).dnnl()) {
    prepare(context.rows);
    implementation_ = convolution_.describe(context.rows);
  }

  void prepare(std::int64_t rows) override { convolution_.prepare(rows); }
  FusedPassSupport fused_pass_support() const override {
    const bool pieces =
        convolution_.supports_fused_passes(ConvPassKind::kForward) && !epilogue_.changes_output(shape_.relu);
    return {.prologue = pieces && kernels::cpu::gemm_forward_is_pointwise(shape_), .epilogue = pieces};
  }
  plan::Need need() const override { return {.saved = argmax_bytes_, .scratch = convolution_.planned_scratch()}; }
  std::string implementation() const override { return implementation_; }

  void forward(const OpArgs& a) override {
    convolution_.run(ConvPassKind::kForward, a.rows,
                     {.x = a.in(),
                      .weights = a.weights[0],
                      .bias = shape_.bias ? a.weights[1] : nullptr,
                      .y = a.out(),
                      .argmax = a.training ? argmax(a) : nullptr,
                      .prologue = a.prologue,
                      .epilogue = a.epilogue},
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
                               .argmax = argmax(a)},
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
    shape.next_to_normalization =
        !Epilogue(context).changes_output(shape.relu) && is_normalised(context.plan, context.step);
    return shape;
  }

  /// Whether a normalization that is not frozen runs before the step, or after it if the step is trained. A frozen
  /// prefix computes the same with and without the layers after it. False for inner steps of another op.
  static bool is_normalised(const plan::Plan& plan, const plan::Step& step) {
    const auto place = std::ranges::find(plan.steps, &step, [](const plan::Step& s) { return &s; });
    if (place == plan.steps.end()) return false;
    const auto s = static_cast<std::size_t>(place - plan.steps.begin());
    const auto is = [&](std::size_t other) {
      const plan::Step& its = plan.steps[other];
      return !its.inference_mode && its.spec.get_if<nn::BatchNormalizationSpec>() != nullptr;
    };
    if (s > 0 && feeds_next_step(plan, s - 1) && is(s - 1)) return true;
    return feeds_next_step(plan, s) && is(s + 1) && std::ranges::any_of(step.parameters, [&](int p) {
             return plan.parameters[static_cast<std::size_t>(p)].kind != plan::ParameterKind::kFrozen;
           });
  }

  std::uint8_t* argmax(const OpArgs& a) const {
    return argmax_bytes_ > 0 ? static_cast<std::uint8_t*>(a.saved) : nullptr;
  }

  ConvShape shape_;  // rows unset
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  std::uint64_t argmax_bytes_;  // size of ConvTensors::argmax, the only saved tensor
  Convolution convolution_;
  std::string implementation_;
};

/// Fuses a 2x2 max-pooling that covers every output, as the last entry of the tail, if a kernel supports it. The kernel
/// saves which of four outputs was the largest and whether it was positive, so backward reads no output.
std::optional<plan::TailFusion> fuses_pooling(const nn::MaxPooling2DSpec& pool, const plan::Follower& follower,
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

/// Runs the passes of the convolution from the output back to the input, in exchanged roles: forward is its
/// backward-data pass.
class Conv2DTransposeOp final : public Op {
 public:
  Conv2DTransposeOp(const nn::Conv2DTransposeSpec& spec, const OpContext& context, Device& device)
      : filters_(spec.filters),
        positions_(context.output()[0] * context.output()[1]),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.wants_dx()),
        wants_dweights_(context.trains()),
        bias_bytes_(bias_ && wants_dweights_
                        ? workspace_bytes(context.rows,
                                          [&](std::int64_t rows) {
                                            return kernels::cpu::bias_gradient_workspace(rows * positions_, filters_);
                                          })
                        : 0),
        convolution_(back(spec, context), {.forward = wants_dx_, .data = true, .weights = wants_dweights_},
                     device.options(), static_cast<CpuDevice&>(device).dnnl()) {
    prepare(context.rows);
    implementation_ = "forward " + convolution_.name(ConvPassKind::kBackwardData, context.rows);
    if (wants_dx_) implementation_ += "; data " + convolution_.name(ConvPassKind::kForward, context.rows);
    if (wants_dweights_)
      implementation_ += "; weights " + convolution_.name(ConvPassKind::kBackwardWeights, context.rows);
  }

  void prepare(std::int64_t rows) override { convolution_.prepare(rows); }
  plan::Need need() const override {
    return {.saved = 0, .scratch = std::max<std::uint64_t>(bias_bytes_, convolution_.planned_scratch())};
  }
  std::string implementation() const override { return implementation_; }

  void forward(const OpArgs& a) override {
    convolution_.run(ConvPassKind::kBackwardData, a.rows, {.weights = a.weights[0], .dy = a.in(), .dx = a.out()},
                     a.scratch);
    if (bias_) kernels::cpu::bias_add(a.out(), a.weights[1], a.rows * positions_, filters_, a.out());
    epilogue_.apply({}, a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    epilogue_.undo({}, a.out(), a.dy(), a.rows);
    if (bias_ && wants_dweights_ && a.weight_gradients[1] != nullptr)
      kernels::cpu::bias_gradient(a.dy(), a.rows * positions_, filters_, static_cast<float*>(a.scratch),
                                  a.weight_gradients[1]);
    if (wants_dweights_ && a.weight_gradients[0] != nullptr)
      convolution_.run(ConvPassKind::kBackwardWeights, a.rows,
                       {.x = a.dy(), .dy = a.in(), .dweights = a.weight_gradients[0]}, a.scratch);
    if (wants_dx_ && a.dx() != nullptr)
      convolution_.run(ConvPassKind::kForward, a.rows, {.x = a.dy(), .weights = a.weights[0], .y = a.dx()}, a.scratch);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = convolution_.flops();
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  /// Keras's kernel [kh, kw, filters, in] is this convolution's kernel without a permutation.
  static ConvShape back(const nn::Conv2DTransposeSpec& spec, const OpContext& context) {
    ConvShape shape{conv_window(spec, context.output(), context.input(0))};
    shape.bias = false;
    return shape;
  }

  std::int64_t filters_, positions_;
  bool bias_;
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  std::uint64_t bias_bytes_;
  Convolution convolution_;
  std::string implementation_;
};

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place.
class DepthwiseConv2DOp final : public Op {
 public:
  DepthwiseConv2DOp(const nn::DepthwiseConv2DSpec& spec, const OpContext& context, Device&)
      : shape_(depthwise_shape(spec, context.input(0))),
        bias_(spec.use_bias),
        epilogue_(context),
        passes_(int{context.wants_dx()} + int{context.trains()}),
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
  int passes_;  // number of backward passes
  std::uint64_t workspace_bytes_;
};

/// Depthwise, then pointwise as a 1x1 convolution with bias and ReLU. The tensor between them is saved where the
/// pointwise kernel is trained; its gradient is in scratch.
class SeparableConv2DOp final : public Op {
 public:
  SeparableConv2DOp(const nn::SeparableConv2DSpec& spec, const OpContext& context, Device& device)
      : depthwise_(depthwise_shape(spec, context.input(0))),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.wants_dx()),
        wants_depthwise_(context.trains(0)),
        wants_pointwise_(context.trains(1)),
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

/// The `Kernels` of Conv3DOp and Conv3DTransposeOp (conv3d_ops.h).
class VolumeKernels {
 public:
  VolumeKernels(const OpContext& context, Device&) : epilogue_(context) {}

  void gather_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* volume, void* slabs) const {
    kernels::cpu::gather_slabs(window, static_cast<const float*>(volume), a.rows, static_cast<float*>(slabs));
  }
  void sum_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* slabs, void* volume) const {
    kernels::cpu::sum_slabs(window, static_cast<const float*>(slabs), a.rows, static_cast<float*>(volume));
  }
  void bias_add(const OpArgs& a, void* y, const float* bias, std::int64_t positions, std::int64_t width) const {
    kernels::cpu::bias_add(static_cast<const float*>(y), bias, a.rows * positions, width, static_cast<float*>(y));
  }
  static std::uint64_t bias_workspace(std::int64_t rows, std::int64_t positions, std::int64_t width) {
    return workspace_bytes(rows,
                           [=](std::int64_t r) { return kernels::cpu::bias_gradient_workspace(r * positions, width); });
  }
  void bias_gradient(const OpArgs& a, const void* dy, std::int64_t positions, std::int64_t width, void* workspace,
                     float* gradient) const {
    kernels::cpu::bias_gradient(static_cast<const float*>(dy), a.rows * positions, width,
                                static_cast<float*>(workspace), gradient);
  }
  void apply(const OpArgs& a) const { epilogue_.apply({}, a.out(), a.rows); }
  void undo(const OpArgs& a) const { epilogue_.undo({}, a.out(), a.dy(), a.rows); }

 private:
  Epilogue epilogue_;
};

const RegisteredOp kCpuConv2D = op<nn::Conv2DSpec, Conv2DOp>(
    DeviceKind::kCpu, {.fuses = {fuses_activation(), fuses<nn::MaxPooling2DSpec>(fuses_pooling)}});
const RegisteredOp kCpuConv2DTranspose =
    op<nn::Conv2DTransposeSpec, Conv2DTransposeOp>(DeviceKind::kCpu, {.fuses = {fuses_activation()}});
const RegisteredOp kCpuDepthwiseConv2D =
    op<nn::DepthwiseConv2DSpec, DepthwiseConv2DOp>(DeviceKind::kCpu, {.fuses = {fuses_activation()}});
const RegisteredOp kCpuSeparableConv2D =
    op<nn::SeparableConv2DSpec, SeparableConv2DOp>(DeviceKind::kCpu, {.fuses = {fuses_activation()}});
const RegisteredOp kCpuConv3D = op<nn::Conv3DSpec, Conv3DOp<VolumeKernels>>(
    DeviceKind::kCpu, {.fuses = {fuses_activation(), fuses_frame_pooling()}, .weight_orders = {{1, 2, 0, 3, 4}}});
const RegisteredOp kCpuConv3DTranspose = op<nn::Conv3DTransposeSpec, Conv3DTransposeOp<VolumeKernels>>(
    DeviceKind::kCpu, {.fuses = {fuses_activation()}, .weight_orders = {{1, 2, 0, 3, 4}}});

}  // namespace
}  // namespace dptrain::backend::cpu
