#include "nn/convolutions.h"

#include <algorithm>

#include "backend/conv_window.h"
#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_op.h"
#include "backend/ops/activations.h"
#include "kernels/cuda/bias.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// The passes of the convolution that leads from the output back to the input, with their parts exchanged: forward is
/// its gradient of the data. Bias and activation follow in place. Scratch: [rounded filter][workspace].
class Conv2DTransposeOp final : public GpuOp {
 public:
  Conv2DTransposeOp(const nn::Conv2DTransposeSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
        wants_dweights_(context.step.has_backward && context.step.parameter_gradients[0]),
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
    const Room room(*this, a);
    room.convolution->backward_data(a.inputs[0], a.compute_weights[0], a.out<void>(), room.workspace,
                                    a.stream->native());
    if (bias_)
      kernel::bias_add(at(a), type_, a.out<void>(), a.weights[1], a.rows * positions(), filters(), a.out<void>());
    epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const Room room(*this, a);
    epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    if (bias_ && a.weight_gradients[1] != nullptr)
      kernel::bias_gradient(at(a), type_, a.dy<void>(), a.rows * positions(), filters(),
                            reinterpret_cast<float*>(room.workspace), a.weight_gradients[1]);
    if (wants_dweights_ && a.weight_gradients[0] != nullptr)
      differentiate_filter(at(a), sets_.sample(), *room.convolution, a.dy<void>(), a.inputs[0], room.rounded,
                           room.workspace, a.weight_gradients[0]);
    if (wants_dx_ && a.input_gradients[0] != nullptr)
      room.convolution->forward(a.dy<void>(), a.compute_weights[0], nullptr, a.input_gradients[0], room.workspace,
                                a.stream->native());
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = flops(sets_.sample());
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  struct Room {
    gpu::Convolution* convolution;
    std::byte *rounded, *workspace;

    Room(Conv2DTransposeOp& op, const OpArgs& a) {
      ConvSets::Set& set = op.sets_.at(a.rows);
      convolution = set.convolution.get();
      rounded = op.sets_.room(set, a.scratch);
      workspace = rounded + rounded_filter_bytes(op.sets_.sample(), op.sets_.passes());
    }
  };

  gpu::ConvProblem back(const nn::Conv2DTransposeSpec& spec, const OpContext& context) const {
    return {conv_window(spec, context.output(), context.input(0)), 1, type_};
  }

  std::int64_t positions() const { return input_positions(sets_.sample()); }  // of the layer's output
  std::int64_t filters() const { return sets_.sample().in_channels; }

  bool bias_;
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  ConvSets sets_;
};

const RegisteredOp kConv2DTranspose = op<nn::Conv2DTransposeSpec, Conv2DTransposeOp>(
    kKind, {.fuses = {takes_activation()}, .weight_orders = {{3, 0, 1, 2}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
