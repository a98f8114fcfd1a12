#include "nn/convolutions.h"

#include <algorithm>

#include "backend/depthwise_shape.h"
#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_op.h"
#include "backend/ops/activations.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/depthwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Depthwise, then pointwise as a 1x1 convolution with bias and ReLU. What is between them is kept where the pointwise
/// kernel is trained; its gradient lies in scratch. Scratch: [between][rounded filter][workspace].
class SeparableConv2DOp final : public GpuOp {
 public:
  SeparableConv2DOp(const nn::SeparableConv2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        depthwise_(depthwise_shape(spec, context.input(0))),
        epilogue_(context),
        wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
        wants_depthwise_(wants(context, 0)),
        wants_pointwise_(wants(context, 1)),
        kept_bytes_(wants_pointwise_ ? between_bytes(context.rows) : 0),
        sets_(device_, pointwise(spec),
              {.forward = true, .data = wants_dx_ || wants_depthwise_, .weights = wants_pointwise_},
              [this](const gpu::Convolution& convolution, std::int64_t rows) { return scratch(convolution, rows); }) {
    prepare(context.rows);
  }

  void prepare(std::int64_t rows) override { sets_.prepare(rows); }
  plan::Need need() const override { return {.saved = kept_bytes_, .scratch = sets_.planned()}; }
  std::string implementation() const override { return "pointwise " + sets_.name(); }

  void forward(const OpArgs& a) override {
    const Room room(*this, a);
    void* const between = wants_pointwise_ && a.training ? a.saved : room.between;
    kernel::depthwise_forward(at(a), type_, depthwise_, a.inputs[0], a.weights[0], nullptr, false, a.rows, between);
    room.convolution->forward(between, a.compute_weights[1], sets_.sample().bias ? a.compute_weights[2] : nullptr,
                              a.out<void>(), room.workspace, a.stream->native());
    if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const Room room(*this, a);
    auto* const floats = reinterpret_cast<float*>(room.workspace);
    epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    if (sets_.sample().bias && a.weight_gradients[2] != nullptr)
      kernel::bias_gradient(at(a), type_, a.dy<void>(), a.rows * output_positions(sets_.sample()),
                            sets_.sample().out_channels, floats, a.weight_gradients[2]);
    if (wants_pointwise_ && a.weight_gradients[1] != nullptr)
      differentiate_filter(at(a), sets_.sample(), *room.convolution, a.saved, a.dy<void>(), room.rounded,
                           room.workspace, a.weight_gradients[1]);
    if (!sets_.passes().data) return;
    room.convolution->backward_data(a.dy<void>(), a.compute_weights[1], room.between, room.workspace,
                                    a.stream->native());
    if (wants_depthwise_ && a.weight_gradients[0] != nullptr)
      kernel::depthwise_backward_weights(at(a), type_, depthwise_, a.inputs[0], room.between, a.rows, floats,
                                         a.weight_gradients[0]);
    if (wants_dx_ && a.input_gradients[0] != nullptr)
      kernel::depthwise_backward_data(at(a), type_, depthwise_, room.between, a.weights[0], a.rows,
                                      a.input_gradients[0]);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double spread = backend::flops(depthwise_), mix = DPTRAIN_BACKEND::flops(sets_.sample());
    return {spread + mix, spread * (int{wants_dx_} + int{wants_depthwise_}) +
                              mix * (int{sets_.passes().data} + int{wants_pointwise_})};
  }

 private:
  struct Room {
    gpu::Convolution* convolution;
    std::byte *between, *rounded, *workspace;

    Room(SeparableConv2DOp& op, const OpArgs& a) {
      ConvSets::Set& set = op.sets_.at(a.rows);
      convolution = set.convolution.get();
      between = op.sets_.room(set, a.scratch);
      rounded = between + op.between_bytes(a.rows);
      workspace = rounded + rounded_filter_bytes(op.sets_.sample(), op.sets_.passes());
    }
  };

  static bool wants(const OpContext& context, std::size_t weight) {
    return context.step.has_backward && context.step.parameter_gradients[weight];
  }

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
  std::uint64_t kept_bytes_;
  ConvSets sets_;
};

const RegisteredOp kSeparableConv2D = op<nn::SeparableConv2DSpec, SeparableConv2DOp>(
    kKind, {.fuses = {takes_activation()}, .weight_orders = {{}, {3, 0, 1, 2}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
