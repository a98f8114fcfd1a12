#include "nn/convolutions.h"

#include <algorithm>

#include "backend/conv_window.h"
#include "backend/cpu/conv/convolution.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "backend/ops/activations.h"
#include "core/format.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

/// The passes of the convolution that leads from the output back to the input, with their parts exchanged: forward is
/// its gradient of the data.
class Conv2DTransposeOp final : public Op {
 public:
  Conv2DTransposeOp(const nn::Conv2DTransposeSpec& spec, const OpContext& context, Device& device)
      : filters_(spec.filters),
        positions_(context.output()[0] * context.output()[1]),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
        wants_dweights_(context.step.has_backward && context.step.parameter_gradients[0]),
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
  /// Keras's kernel [kh, kw, filters, in] is that of the convolution, as it is.
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

const RegisteredOp kCpuConv2DTranspose =
    op<nn::Conv2DTransposeSpec, Conv2DTransposeOp>(DeviceKind::kCpu, {.fuses = {takes_activation()}});

}  // namespace
}  // namespace dptrain::backend::cpu
