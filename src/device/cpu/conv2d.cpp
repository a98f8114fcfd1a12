#include "layers/conv2d.h"

#include "device/cpu/activation.h"
#include "device/cpu/conv/conv2d_shape.h"
#include "device/cpu/conv/convolution.h"
#include "device/cpu/cpu_device.h"
#include "device/device.h"

namespace dptrain::device::cpu {
namespace {

/// Bias and ReLU are part of the forward pass; another epilogue follows it in place, and all are undone in the gradient
/// of the output before the backward passes. With a pooling behind it, one byte of each output is kept instead, and the
/// backward passes undo both themselves.
class Conv2DOp final : public Op {
 public:
  Conv2DOp(const layers::Conv2DSpec& spec, const OpContext& context, Device& device)
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
  plan::Need need() const override { return {.saved = taken_bytes_, .scratch = convolution_.planned_scratch()}; }
  std::string implementation() const override { return implementation_; }

  void forward(const OpArgs& a) override {
    convolution_.run(ConvPassKind::kForward, a.rows,
                     {.x = a.in(),
                      .weights = a.weights[0],
                      .bias = shape_.bias ? a.weights[1] : nullptr,
                      .y = a.out(),
                      .taken = a.training ? taken(a) : nullptr},
                     a.scratch);
    if (!shape_.relu) epilogue_.apply(a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    if (!shape_.pool) epilogue_.undo(a.out(), a.dy(), a.rows);
    if (wants_dweights_ && a.weight_gradients[0] != nullptr)
      convolution_.run(ConvPassKind::kBackwardWeights, a.rows,
                       {.x = a.in(),
                        .dy = a.dy(),
                        .dweights = a.weight_gradients[0],
                        .dbias = shape_.bias ? a.weight_gradients[1] : nullptr,
                        .taken = taken(a)},
                       a.scratch);
    if (wants_dx_ && a.dx() != nullptr)
      convolution_.run(ConvPassKind::kBackwardData, a.rows,
                       {.weights = a.weights[0], .dy = a.dy(), .dx = a.dx(), .taken = taken(a)}, a.scratch);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = convolution_.flops();
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  static ConvShape shape_of(const layers::Conv2DSpec& spec, const OpContext& context) {
    ConvShape shape = conv2d_shape(spec, context.input(0));
    shape.relu = context.step.epilogue == layers::Activation::kRelu;
    shape.pool = static_cast<bool>(context.step.pooling);
    return shape;
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

const RegisteredOp kCpuConv2D = op<layers::Conv2DSpec, Conv2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
