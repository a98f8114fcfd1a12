#include "plan/plan.h"

#include <algorithm>

#include "nn/layer.h"
#include "plan/stages.h"
#include "plan/tail.h"

namespace dptrain::plan {

void set_layer(Step& step, const config::Typed& layer, const Shape& input) {
  const auto [inner, axes] = nn::applied(layer);
  step.spec = nn::computed_as(inner);
  step.adds_height = step.spec.type() != inner.type();
  step.frame_axes = axes;
  step.frames = 1;
  for (int axis = 0; axis < axes; ++axis) step.frames *= input[static_cast<std::size_t>(axis)];
}

Shape shape_for_op(const Step& step, const Shape& shape) {
  const Shape one({shape.dims().begin() + step.frame_axes, shape.dims().end()});
  return step.adds_height ? nn::with_height(one) : one;
}

int slot_of(const Plan& plan, const BackwardItem& item) {
  switch (item.kind) {
    case BackwardItem::Kind::kStep: return plan.steps[at(item.step)].slot;
    case BackwardItem::Kind::kAccumulateTensor:
    case BackwardItem::Kind::kFetchTensor: return plan.tensors[at(item.destination)].slot;
    case BackwardItem::Kind::kAccumulateParameter:
    case BackwardItem::Kind::kFetchParameter: return 0;
  }
  return 0;
}

StepReads backward_reads(const Step& step) {
  if (step.copies) return {};
  const nn::BackwardReads reads = nn::type_of(step.spec).backward_reads(step.spec.spec());
  const bool trains = std::ranges::any_of(step.parameter_gradients, [](bool wanted) { return wanted; });
  const bool undoes_tail = !step.tail.empty() && !step.tail.back().undone && step.tail.back().fusion.reads_output;
  std::span<const int> inputs;
  const std::span<const int> own = std::span(step.inputs).first(own_inputs(step));
  if (reads.input || (reads.input_to_train && trains))
    inputs = own;
  else if (reads.masks && !step.masks.empty())
    inputs = own.subspan(step.masks.size());
  return {.inputs = inputs, .output = reads.output || undoes_tail || step.undoes};
}

double weight_of(const LossStep& loss, std::span<const double> sums, std::int64_t samples) {
  if (!loss.masked()) return static_cast<double>(samples);
  return (sums[loss.first_sum + loss.valid_sum()] + kMaskEpsilon) / static_cast<double>(loss.masked_positions);
}

std::vector<int> mask_steps(const Plan& plan) {
  std::vector<bool> wanted(plan.tensors.size(), false);
  for (const LossStep& loss : plan.losses)
    if (loss.has_mask_tensor()) wanted[at(root(plan, loss.mask))] = true;
  std::vector<int> steps;
  for (int s = last_index(plan.steps.size()); s >= 0; --s) {
    const Step& step = plan.steps[at(s)];
    if (std::ranges::none_of(step.outputs, [&](int output) { return wanted[at(root(plan, output))]; })) continue;
    steps.push_back(s);
    for (const int input : step.inputs) wanted[at(root(plan, input))] = true;
  }
  std::ranges::reverse(steps);
  return steps;
}

std::vector<int> predicted_tensors(const Plan& plan) {
  std::vector<int> tensors = plan.outputs;
  for (const LossStep& loss : plan.losses)
    if (loss.has_mask_tensor()) tensors.push_back(loss.mask);
  return tensors;
}

Plan make_plan(const graph::Model& model, const PlanOptions& options, const Capabilities& device) {
  Draft draft{.model = model, .options = options, .device = device, .plan = {}, .node_tensors = {}};
  draft.plan.graph = &model.graph;
  if (options.slots.size() > 1) draft.plan.slots = options.slots;
  resolve_losses(draft);
  list_parameters(draft);
  lower(draft);
  cross_slots(draft);
  find_tables(draft);
  plan_backward(draft);
  delay_fetches(draft.plan);
  lay_out_parameters(draft);
  draft.plan.compute = options.compute;
  for (Tensor& tensor : draft.plan.tensors)
    if (!tensor.rowless && tensor.type == DType::kF32) tensor.type = options.compute;
  return std::move(draft.plan);
}

}  // namespace dptrain::plan
