// Conv2D, Dense, Conv2DTranspose, DepthwiseConv2D, SeparableConv2D, Conv3D and Conv3DTranspose.

#include <algorithm>
#include <string>

#include "backend/conv3d_ops.h"
#include "backend/geometry.h"
#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_device.h"
#include "backend/gpu/gpu_op.h"
#include "backend/ops/activations.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/depth_slabs.h"
#include "kernels/cuda/depthwise.h"
#include "nn/convolutions.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

// Conv2D and Dense. Bias and ReLU are part of forward; another epilogue follows in place. Backward undoes the epilogue
// in dy, fused with the bias gradient for a ReLU. A 16-bit filter gradient is then converted to floats in the arena.
class ConvolutionOp : public GpuOp {
 public:
  void prepare(std::int64_t rows) override { sets_.prepare(rows); }
  plan::Need need() const override { return {.saved = 0, .scratch = sets_.planned()}; }
  std::string implementation() const override { return sets_.name(); }

  void forward(const OpArgs& a) override {
    const ConvSets::Call call = sets_.call(a.rows, a.scratch);
    call.convolution.forward(a.inputs[0], a.compute_weights[0], call.sample.bias ? a.compute_weights[1] : nullptr,
                             a.out<void>(), call.workspace, a.stream->native());
    if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const ConvSets::Call call = sets_.call(a.rows, a.scratch);
    differentiate_bias(a, reinterpret_cast<float*>(call.before));
    if (sets_.passes().weights && a.weight_gradients[0] != nullptr)
      call.differentiate_filter(at(a), a.inputs[0], a.dy<void>(), a.weight_gradients[0]);
    if (sets_.passes().data && a.input_gradients[0] != nullptr)
      call.convolution.backward_data(a.dy<void>(), a.compute_weights[0], a.input_gradients[0], call.workspace,
                                     a.stream->native());
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = flops(sets_.sample());
    return {pass, pass * (int{sets_.passes().data} + int{sets_.passes().weights})};
  }

 protected:
  /// `sample`: the problem of one sample, which may have several `rows`. Sets its type, alignment and relu.
  ConvolutionOp(gpu::ConvProblem sample, const OpContext& context, Device& device)
      : GpuOp(context, device),
        epilogue_(context),
        sets_(device_, completed(sample, context),
              {.forward = true, .data = context.wants_dx(), .weights = context.trains()},
              [this](const gpu::Convolution& convolution, std::int64_t rows) {
                const std::uint64_t scratch =
                    rounded_filter_bytes(sets_.sample(), sets_.passes()) + convolution.workspace();
                if (!sets_.sample().bias) return scratch;
                // The bias gradient is complete before the convolution's backward passes, so both share scratch.
                const std::int64_t floats = kernel::bias_gradient_workspace(rows * output_positions(sets_.sample()),
                                                                            sets_.sample().out_channels);
                return std::max(scratch, static_cast<std::uint64_t>(floats) * sizeof(float));
              }) {
    ConvolutionOp::prepare(context.rows);
  }

 private:
  static gpu::ConvProblem completed(gpu::ConvProblem sample, const OpContext& context) {
    sample.type = context.plan.compute;
    sample.alignment = context.alignment;
    sample.relu = plan::tail_activation(context.step).activation == nn::Activation::kRelu;
    return sample;
  }

  /// Also undoes the epilogue.
  void differentiate_bias(const OpArgs& a, float* sums) {
    const gpu::ConvProblem& sample = sets_.sample();
    float* const gradient = sample.bias && a.weight_gradients.size() > 1 ? a.weight_gradients[1] : nullptr;
    const std::int64_t points = a.rows * output_positions(sample);
    if (gradient != nullptr && epilogue_.is_relu() && epilogue_.changes_gradient())
      return kernel::relu_bias_gradient(at(a), type_, a.out<void>(), a.dy<void>(), points, sample.out_channels, sums,
                                        gradient);
    epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    if (gradient != nullptr)
      kernel::bias_gradient(at(a), type_, a.dy<void>(), points, sample.out_channels, sums, gradient);
  }

  Epilogue epilogue_;
  ConvSets sets_;
};

class Conv2DOp final : public ConvolutionOp {
 public:
  Conv2DOp(const nn::Conv2DSpec& spec, const OpContext& context, Device& device)
      : ConvolutionOp(sample_of(spec, context), context, device) {}

 private:
  static gpu::ConvProblem sample_of(const nn::Conv2DSpec& spec, const OpContext& context) {
    gpu::ConvProblem problem{conv_window(spec, context.input(0), context.output())};
    problem.groups = spec.groups;
    problem.bias = spec.use_bias;
    return problem;
  }
};

/// Acts on the last axis; the axes before it are images of one pixel.
class DenseOp final : public ConvolutionOp {
 public:
  DenseOp(const nn::DenseSpec& spec, const OpContext& context, Device& device)
      : ConvolutionOp(sample_of(spec, context.input(0)), context, device) {}

 private:
  static gpu::ConvProblem sample_of(const nn::DenseSpec& spec, const Shape& input) {
    gpu::ConvProblem problem{{.in_channels = input.back(), .out_channels = spec.units}};
    problem.rows = input.elements() / input.back();
    problem.bias = spec.use_bias;
    return problem;
  }
};

/// Forward is backward-data from output to input; bias and activation follow. Scratch: [rounded filter][workspace].
class Conv2DTransposeOp final : public GpuOp {
 public:
  Conv2DTransposeOp(const nn::Conv2DTransposeSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.wants_dx()),
        wants_dweights_(context.trains()),
        sets_(device_, back(spec, context), {.forward = wants_dx_, .data = true, .weights = wants_dweights_},
              [this](const gpu::Convolution& convolution, std::int64_t rows) {
                const std::int64_t floats = bias_ ? kernel::bias_gradient_workspace(rows * positions(), filters()) : 0;
                return rounded_filter_bytes(sets_.sample(), sets_.passes()) +
                       std::max(convolution.workspace(), static_cast<std::uint64_t>(floats) * sizeof(float));
              }) {
    prepare(context.rows);
  }

  void prepare(std::int64_t rows) override { sets_.prepare(rows); }
  plan::Need need() const override { return {.saved = 0, .scratch = sets_.planned()}; }
  std::string implementation() const override { return "of the convolution back: " + sets_.name(); }

  void forward(const OpArgs& a) override {
    const ConvSets::Call call = sets_.call(a.rows, a.scratch);
    call.convolution.backward_data(a.inputs[0], a.compute_weights[0], a.out<void>(), call.workspace,
                                   a.stream->native());
    if (bias_)
      kernel::bias_add(at(a), type_, a.out<void>(), a.weights[1], a.rows * positions(), filters(), a.out<void>());
    epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const ConvSets::Call call = sets_.call(a.rows, a.scratch);
    epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    if (bias_ && a.weight_gradients[1] != nullptr)
      kernel::bias_gradient(at(a), type_, a.dy<void>(), a.rows * positions(), filters(),
                            reinterpret_cast<float*>(call.workspace), a.weight_gradients[1]);
    if (wants_dweights_ && a.weight_gradients[0] != nullptr)
      call.differentiate_filter(at(a), a.dy<void>(), a.inputs[0], a.weight_gradients[0]);
    if (wants_dx_ && a.input_gradients[0] != nullptr)
      call.convolution.forward(a.dy<void>(), a.compute_weights[0], nullptr, a.input_gradients[0], call.workspace,
                               a.stream->native());
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = flops(sets_.sample());
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  gpu::ConvProblem back(const nn::Conv2DTransposeSpec& spec, const OpContext& context) const {
    return {conv_window(spec, context.output(), context.input(0)), 1, type_};
  }

  std::int64_t positions() const { return input_positions(sets_.sample()); }  // pixels of the layer's output
  std::int64_t filters() const { return sets_.sample().in_channels; }

  bool bias_;
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  ConvSets sets_;
};

/// Bias and ReLU are part of forward; another epilogue follows in place.
class DepthwiseConv2DOp final : public GpuOp {
 public:
  DepthwiseConv2DOp(const nn::DepthwiseConv2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        shape_(depthwise_shape(spec, context.input(0))),
        bias_(spec.use_bias),
        epilogue_(context),
        has_backward_(context.step.has_backward),
        passes_(int{context.wants_dx()} + int{context.trains()}),
        rows_(context.rows) {}

  plan::Need need() const override {
    if (!has_backward_) return {};
    std::int64_t floats = kernel::depthwise_workspace(type_, shape_, rows_);
    for (std::int64_t rows = 1; bias_ && rows <= rows_; ++rows)  // not monotonic in rows
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
  int passes_;
  std::int64_t rows_;
};

/// Depthwise, then pointwise as a 1x1 convolution with bias and ReLU. The tensor between them is saved if the pointwise
/// kernel is trained; its gradient is in scratch. Scratch: [between][rounded filter][workspace].
class SeparableConv2DOp final : public GpuOp {
 public:
  SeparableConv2DOp(const nn::SeparableConv2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        depthwise_(depthwise_shape(spec, context.input(0))),
        epilogue_(context),
        wants_dx_(context.wants_dx()),
        wants_depthwise_(context.trains(0)),
        wants_pointwise_(context.trains(1)),
        saved_bytes_(wants_pointwise_ ? between_bytes(context.rows) : 0),
        sets_(device_, pointwise(spec),
              {.forward = true, .data = wants_dx_ || wants_depthwise_, .weights = wants_pointwise_},
              [this](const gpu::Convolution& convolution, std::int64_t rows) { return scratch(convolution, rows); }) {
    prepare(context.rows);
  }

  void prepare(std::int64_t rows) override { sets_.prepare(rows); }
  plan::Need need() const override { return {.saved = saved_bytes_, .scratch = sets_.planned()}; }
  std::string implementation() const override { return "pointwise " + sets_.name(); }

  void forward(const OpArgs& a) override {
    const ConvSets::Call call = sets_.call(a.rows, a.scratch, between_bytes(a.rows));
    void* const between = wants_pointwise_ && a.training ? a.saved : call.before;
    kernel::depthwise_forward(at(a), type_, depthwise_, a.inputs[0], a.weights[0], nullptr, false, a.rows, between);
    call.convolution.forward(between, a.compute_weights[1], sets_.sample().bias ? a.compute_weights[2] : nullptr,
                             a.out<void>(), call.workspace, a.stream->native());
    if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const ConvSets::Call call = sets_.call(a.rows, a.scratch, between_bytes(a.rows));
    auto* const floats = reinterpret_cast<float*>(call.workspace);
    epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    if (sets_.sample().bias && a.weight_gradients[2] != nullptr)
      kernel::bias_gradient(at(a), type_, a.dy<void>(), a.rows * output_positions(sets_.sample()),
                            sets_.sample().out_channels, floats, a.weight_gradients[2]);
    if (wants_pointwise_ && a.weight_gradients[1] != nullptr)
      call.differentiate_filter(at(a), a.saved, a.dy<void>(), a.weight_gradients[1]);
    if (!sets_.passes().data) return;
    call.convolution.backward_data(a.dy<void>(), a.compute_weights[1], call.before, call.workspace, a.stream->native());
    if (wants_depthwise_ && a.weight_gradients[0] != nullptr)
      kernel::depthwise_backward_weights(at(a), type_, depthwise_, a.inputs[0], call.before, a.rows, floats,
                                         a.weight_gradients[0]);
    if (wants_dx_ && a.input_gradients[0] != nullptr)
      kernel::depthwise_backward_data(at(a), type_, depthwise_, call.before, a.weights[0], a.rows,
                                      a.input_gradients[0]);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double spread = backend::flops(depthwise_), mix = DPTRAIN_BACKEND::flops(sets_.sample());
    return {spread + mix, spread * (int{wants_dx_} + int{wants_depthwise_}) +
                              mix * (int{sets_.passes().data} + int{wants_pointwise_})};
  }

 private:
  gpu::ConvProblem pointwise(const nn::SeparableConv2DSpec& spec) const {
    return {pointwise_window(depthwise_, spec.filters), 1, type_, spec.use_bias, epilogue_.is_relu()};
  }

  std::uint64_t between_bytes(std::int64_t rows) const {
    return aligned_part(rows * result_elements(depthwise_), type_);
  }

  std::uint64_t scratch(const gpu::Convolution& convolution, std::int64_t rows) const {
    const gpu::ConvProblem& sample = sets_.sample();
    std::int64_t floats = wants_depthwise_ ? kernel::depthwise_workspace(type_, depthwise_, rows) : 0;
    if (sample.bias)
      floats = std::max(floats, kernel::bias_gradient_workspace(rows * output_positions(sample), sample.out_channels));
    return between_bytes(rows) + rounded_filter_bytes(sample, sets_.passes()) +
           std::max(convolution.workspace(), static_cast<std::uint64_t>(floats) * sizeof(float));
  }

  kernels::DepthwiseShape depthwise_;
  Epilogue epilogue_;
  bool wants_dx_, wants_depthwise_, wants_pointwise_;
  std::uint64_t saved_bytes_;
  ConvSets sets_;
};

/// The `Kernels` of Conv3DOp and Conv3DTransposeOp (conv3d_ops.h).
class VolumeKernels {
 public:
  VolumeKernels(const OpContext& context, Device& device)
      : device_(static_cast<GpuDevice&>(device)), type_(context.plan.compute), epilogue_(context) {}

  void gather_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* volume, void* slabs) const {
    kernel::gather_slabs(device_.launch(*a.stream), type_, window, volume, a.rows, slabs);
  }
  void sum_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* slabs, void* volume) const {
    kernel::sum_slabs(device_.launch(*a.stream), type_, window, slabs, a.rows, volume);
  }
  void bias_add(const OpArgs& a, void* y, const float* bias, std::int64_t positions, std::int64_t width) const {
    kernel::bias_add(device_.launch(*a.stream), type_, y, bias, a.rows * positions, width, y);
  }
  static std::uint64_t bias_workspace(std::int64_t rows, std::int64_t positions, std::int64_t width) {
    return static_cast<std::uint64_t>(kernel::bias_gradient_workspace(rows * positions, width)) * sizeof(float);
  }
  void bias_gradient(const OpArgs& a, const void* dy, std::int64_t positions, std::int64_t width, void* workspace,
                     float* gradient) const {
    kernel::bias_gradient(device_.launch(*a.stream), type_, dy, a.rows * positions, width,
                          static_cast<float*>(workspace), gradient);
  }
  void apply(const OpArgs& a) const { epilogue_.apply(device_.launch(*a.stream), a.out<void>(), a.rows); }
  void undo(const OpArgs& a) const { epilogue_.undo(device_.launch(*a.stream), a.out<void>(), a.dy<void>(), a.rows); }

 private:
  GpuDevice& device_;
  DType type_;
  Epilogue epilogue_;
};

const RegisteredOp kConv2D =
    op<nn::Conv2DSpec, Conv2DOp>(kKind, {.fuses = {fuses_activation()}, .weight_orders = {{3, 0, 1, 2}}});
const RegisteredOp kDense =
    op<nn::DenseSpec, DenseOp>(kKind, {.fuses = {fuses_activation()}, .weight_orders = {{1, 0}}});
const RegisteredOp kConv2DTranspose = op<nn::Conv2DTransposeSpec, Conv2DTransposeOp>(
    kKind, {.fuses = {fuses_activation()}, .weight_orders = {{3, 0, 1, 2}}});
const RegisteredOp kDepthwiseConv2D =
    op<nn::DepthwiseConv2DSpec, DepthwiseConv2DOp>(kKind, {.fuses = {fuses_activation()}});
const RegisteredOp kSeparableConv2D = op<nn::SeparableConv2DSpec, SeparableConv2DOp>(
    kKind, {.fuses = {fuses_activation()}, .weight_orders = {{}, {3, 0, 1, 2}}});
const RegisteredOp kConv3D = op<nn::Conv3DSpec, Conv3DOp<VolumeKernels>>(
    kKind, {.fuses = {fuses_activation()}, .weight_orders = {{4, 1, 2, 0, 3}}});
const RegisteredOp kConv3DTranspose = op<nn::Conv3DTransposeSpec, Conv3DTransposeOp<VolumeKernels>>(
    kKind, {.fuses = {fuses_activation()}, .weight_orders = {{4, 1, 2, 0, 3}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
