#include "layers/conv2d.h"

#include "device/cpu/activation.h"
#include "device/cpu/conv2d_choice.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/per_rows.h"
#include "device/device.h"

namespace dptrain::device::cpu {
namespace {

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place, and all are undone in the gradient
/// of the output before the backward passes.
class Conv2DOp final : public Op {
 public:
  Conv2DOp(const layers::Conv2DSpec& spec, const OpContext& context, Device& device)
      : device_(static_cast<CpuDevice&>(device)),
        shape_(shape_of(spec, context)),
        epilogue_(context),
        wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
        wants_dweights_(context.step.has_backward && context.step.parameter_gradients[0]) {
    prepare(context.rows);
    implementation_ = describe(passes_.at(context.rows));
  }

  void prepare(std::int64_t rows) override { passes_.prepare(rows); }
  plan::Need need() const override { return {.saved = 0, .scratch = passes_.planned_scratch()}; }
  std::string implementation() const override { return implementation_; }

  void forward(const OpArgs& a) override {
    Passes& passes = passes_.at(a.rows);
    passes.forward->run(
        {.x = a.in(), .weights = a.weights[0], .bias = shape_.bias ? a.weights[1] : nullptr, .y = a.out()},
        passes_.scratch(passes, a.scratch));
    if (!shape_.relu) epilogue_.apply(a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    epilogue_.undo(a.out(), a.dy(), a.rows);
    Passes& passes = passes_.at(a.rows);
    void* const scratch = passes_.scratch(passes, a.scratch);
    if (passes.weights && a.weight_gradients[0] != nullptr)
      passes.weights->run({.x = a.in(),
                           .dy = a.dy(),
                           .dweights = a.weight_gradients[0],
                           .dbias = shape_.bias ? a.weight_gradients[1] : nullptr},
                          scratch);
    if (passes.data && a.dx() != nullptr)
      passes.data->run({.weights = a.weights[0], .dy = a.dy(), .dx = a.dx()}, scratch);
  }

  std::pair<double, double> flops_per_sample() const override {
    const ConvShape& s = shape_;
    const double pass = 2.0 * static_cast<double>(s.out_h * s.out_w * s.out_channels) *
                        static_cast<double>(s.kernel.h * s.kernel.w * s.in_channels / s.groups);
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  struct Passes {
    std::unique_ptr<ConvPass> forward, data, weights;  // null where not wanted

    std::size_t scratch() const {
      std::size_t bytes = 0;
      for (const auto* pass : {&forward, &data, &weights})
        if (*pass) bytes = std::max(bytes, (*pass)->scratch());
      return bytes;
    }
  };

  static ConvShape shape_of(const layers::Conv2DSpec& spec, const OpContext& context) {
    const Shape &in = context.input(0), &out = context.output();
    const auto window = layers::window(in, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
    return {.in_h = in[0],
            .in_w = in[1],
            .in_channels = in[2],
            .out_h = out[0],
            .out_w = out[1],
            .out_channels = out[2],
            .kernel = spec.kernel_size,
            .strides = spec.strides,
            .dilation = spec.dilation_rate,
            .pad_top = window.h.pad_before,
            .pad_bottom = window.h.pad_after,
            .pad_left = window.w.pad_before,
            .pad_right = window.w.pad_after,
            .groups = spec.groups,
            .bias = spec.use_bias,
            .relu = context.step.epilogue == layers::Activation::kRelu};
  }

  Passes make(std::int64_t rows) const {
    ConvShape shape = shape_;
    shape.rows = rows;
    const auto choose = [&](ConvPassKind kind) {
      return choose_conv_pass(kind, shape, device_.options().conv, device_.dnnl());
    };
    Passes passes;
    passes.forward = choose(ConvPassKind::kForward);
    if (wants_dx_) passes.data = choose(ConvPassKind::kBackwardData);
    if (wants_dweights_) passes.weights = choose(ConvPassKind::kBackwardWeights);
    return passes;
  }

  static std::string describe(const Passes& passes) {
    std::string text = "forward " + passes.forward->name();
    if (passes.data) text += "; data " + passes.data->name();
    if (passes.weights) text += "; weights " + passes.weights->name();
    return text;
  }

  CpuDevice& device_;
  ConvShape shape_;  // rows unset
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  PerRows<Passes> passes_{[this](std::int64_t rows) { return make(rows); }};
  std::string implementation_;
};

const RegisteredOp kCpuConv2D = op<layers::Conv2DSpec, Conv2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
