#include "backend/gpu/convolution_op.h"

#include <algorithm>

#include "kernels/cuda/bias.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

gpu::ConvProblem with_type(gpu::ConvProblem sample, const OpContext& context) {
  sample.type = context.plan.compute;
  sample.alignment = context.alignment;
  sample.relu = plan::tail_activation(context.step).activation == nn::Activation::kRelu;
  return sample;
}

gpu::ConvPasses passes_of(const plan::Step& step) {
  return {.forward = true,
          .data = step.has_backward && step.input_gradients[0] != plan::kAbsent,
          .weights = step.has_backward && step.parameter_gradients[0]};
}

}  // namespace

ConvolutionOp::ConvolutionOp(const gpu::ConvProblem& sample, const OpContext& context, Device& device)
    : GpuOp(context, device),
      epilogue_(context),
      sets_(device_, with_type(sample, context), passes_of(context.step),
            [this](const gpu::Convolution& convolution, std::int64_t rows) {
              const std::uint64_t scratch =
                  rounded_filter_bytes(sets_.sample(), sets_.passes()) + convolution.workspace();
              if (!sets_.sample().bias) return scratch;
              // The bias is over and done with before the convolution's passes.
              const std::int64_t floats =
                  kernel::bias_gradient_workspace(rows * output_positions(sets_.sample()), sets_.sample().out_channels);
              return std::max(scratch, static_cast<std::uint64_t>(floats) * sizeof(float));
            }) {
  ConvolutionOp::prepare(context.rows);
}

void ConvolutionOp::forward(const OpArgs& a) {
  ConvSets::Set& set = sets_.at(a.rows);
  std::byte* const workspace = sets_.room(set, a.scratch) + rounded_filter_bytes(sets_.sample(), sets_.passes());
  set.convolution->forward(a.inputs[0], a.compute_weights[0], sets_.sample().bias ? a.compute_weights[1] : nullptr,
                           a.out<void>(), workspace, a.stream->native());
  if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
}

void ConvolutionOp::backward(const OpArgs& a) {
  ConvSets::Set& set = sets_.at(a.rows);
  std::byte* const scratch = sets_.room(set, a.scratch);
  std::byte* const workspace = scratch + rounded_filter_bytes(sets_.sample(), sets_.passes());
  differentiate_bias(a, scratch);
  if (sets_.passes().weights && a.weight_gradients[0] != nullptr)
    differentiate_filter(at(a), sets_.sample(), *set.convolution, a.inputs[0], a.dy<void>(), scratch, workspace,
                         a.weight_gradients[0]);
  if (sets_.passes().data && a.input_gradients[0] != nullptr)
    set.convolution->backward_data(a.dy<void>(), a.compute_weights[0], a.input_gradients[0], workspace,
                                   a.stream->native());
}

/// Undoes the epilogue, too.
void ConvolutionOp::differentiate_bias(const OpArgs& a, std::byte* scratch) {
  const gpu::ConvProblem& sample = sets_.sample();
  float* const gradient = sample.bias && a.weight_gradients.size() > 1 ? a.weight_gradients[1] : nullptr;
  const std::int64_t points = a.rows * output_positions(sample);
  auto* const sums = reinterpret_cast<float*>(scratch);
  if (gradient != nullptr && epilogue_.is_relu() && epilogue_.to_undo())
    return kernel::relu_bias_gradient(at(a), type_, a.out<void>(), a.dy<void>(), points, sample.out_channels, sums,
                                      gradient);
  epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
  if (gradient != nullptr)
    kernel::bias_gradient(at(a), type_, a.dy<void>(), points, sample.out_channels, sums, gradient);
}

std::pair<double, double> ConvolutionOp::flops_per_sample() const {
  const double pass = flops(sets_.sample());
  return {pass, pass * (int{sets_.passes().data} + int{sets_.passes().weights})};
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
