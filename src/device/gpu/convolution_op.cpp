#include "device/gpu/convolution_op.h"

#include <algorithm>

#include "kernels/cuda/bias.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

constexpr std::uint64_t kAlign = 256;  // as the plan's blocks

gpu::ConvProblem with_type(gpu::ConvProblem sample, const OpContext& context) {
  sample.type = context.plan.compute;
  sample.relu = context.step.epilogue == layers::Activation::kRelu;
  return sample;
}

std::int64_t positions(const gpu::ConvProblem& sample) { return sample.rows * sample.out_h * sample.out_w; }
std::int64_t filter_elements(const gpu::ConvProblem& p) { return p.k * p.r * p.s * p.c / p.groups; }

}  // namespace

ConvolutionOp::ConvolutionOp(const gpu::ConvProblem& sample, const OpContext& context, Device& device)
    : GpuOp(context, device),
      sample_(with_type(sample, context)),
      epilogue_(context),
      wants_dx_(context.step.has_backward && context.step.input_gradients[0] != plan::kAbsent),
      wants_dweights_(context.step.has_backward && context.step.parameter_gradients[0]) {
  ConvolutionOp::prepare(context.rows);
  implementation_ = sets_.front()->convolution->name();
}

void ConvolutionOp::prepare(std::int64_t rows) { planned_ = std::max(planned_, at_rows(rows).scratch); }

/// In front of the convolution's workspace: the filter's gradient in 16 bits.
std::uint64_t ConvolutionOp::rounded_filter_bytes() const {
  if (type_ == DType::kF32 || !wants_dweights_) return 0;
  const std::uint64_t bytes = static_cast<std::uint64_t>(filter_elements(sample_)) * size_of(type_);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

ConvolutionOp::Set& ConvolutionOp::at_rows(std::int64_t rows) {
  for (const auto& set : sets_)
    if (set->rows == rows) return *set;
  auto set = std::make_unique<Set>();
  set->rows = rows;
  gpu::ConvProblem problem = sample_;
  problem.rows *= rows;
  set->convolution =
      device_.convolutions().make(problem, {.forward = true, .data = wants_dx_, .weights = wants_dweights_});
  set->scratch = rounded_filter_bytes() + set->convolution->workspace();
  if (sample_.bias) {  // over and done with before the convolution's passes
    const std::int64_t floats = kernel::bias_gradient_workspace(rows * positions(sample_), sample_.k);
    set->scratch = std::max(set->scratch, static_cast<std::uint64_t>(floats) * sizeof(float));
  }
  sets_.push_back(std::move(set));
  return *sets_.back();
}

std::byte* ConvolutionOp::room(Set& set, void* of_plan) {
  if (set.scratch <= planned_) return static_cast<std::byte*>(of_plan);
  if (set.own == nullptr) set.own = device_.allocate(set.scratch);
  return set.own->as<std::byte>();
}

void ConvolutionOp::forward(const OpArgs& a) {
  Set& set = at_rows(a.rows);
  std::byte* const workspace = room(set, a.scratch) + rounded_filter_bytes();
  set.convolution->forward(a.inputs[0], a.compute_weights[0], sample_.bias ? a.compute_weights[1] : nullptr, a.output,
                           workspace, a.stream->native());
  if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.output, a.rows);
}

void ConvolutionOp::backward(const OpArgs& a) {
  Set& set = at_rows(a.rows);
  std::byte* const scratch = room(set, a.scratch);
  std::byte* const workspace = scratch + rounded_filter_bytes();
  void* const stream = a.stream->native();
  differentiate_bias(a, scratch);
  if (wants_dweights_ && a.weight_gradients[0] != nullptr) {
    const bool rounded = type_ != DType::kF32;
    set.convolution->backward_weights(a.inputs[0], a.output_gradient,
                                      rounded ? static_cast<void*>(scratch) : a.weight_gradients[0], workspace, stream);
    if (rounded) kernel::cast_to_float(at(a), type_, scratch, a.weight_gradients[0], filter_elements(sample_));
  }
  if (wants_dx_ && a.input_gradients[0] != nullptr)
    set.convolution->backward_data(a.output_gradient, a.compute_weights[0], a.input_gradients[0], workspace, stream);
}

/// Undoes the epilogue, too.
void ConvolutionOp::differentiate_bias(const OpArgs& a, std::byte* scratch) {
  float* const gradient = sample_.bias && a.weight_gradients.size() > 1 ? a.weight_gradients[1] : nullptr;
  const std::int64_t points = a.rows * positions(sample_);
  auto* const sums = reinterpret_cast<float*>(scratch);
  if (gradient != nullptr && epilogue_.is_relu() && epilogue_.to_undo())
    return kernel::relu_bias_gradient(at(a), type_, a.output, a.output_gradient, points, sample_.k, sums, gradient);
  epilogue_.undo(at(a), a.output, a.output_gradient, a.rows);
  if (gradient != nullptr) kernel::bias_gradient(at(a), type_, a.output_gradient, points, sample_.k, sums, gradient);
}

std::pair<double, double> ConvolutionOp::flops_per_sample() const {
  const double pass = 2.0 * static_cast<double>(positions(sample_)) * static_cast<double>(filter_elements(sample_));
  return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
}

}  // namespace dptrain::device::DPTRAIN_GPU
