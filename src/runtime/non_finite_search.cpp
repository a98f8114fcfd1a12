// StepRunner::find_not_finite(): runs a step again and checks the values that every op writes.

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "plan/traffic.h"
#include "runtime/step_runner.h"

namespace dptrain::runtime {
namespace {

bool is_bad(float value) { return !std::isfinite(value); }

/// Order of a step: inputs, forward, losses (after all steps), backward.
int moment_of_step(const plan::Plan& plan, std::size_t step, bool backward) {
  std::size_t moment = plan.inputs.size() + step;
  if (!backward) return static_cast<int>(moment);
  moment = plan.inputs.size() + plan.steps.size() + plan.losses.size();
  const auto item = std::ranges::find(plan.backward, static_cast<int>(step), &plan::BackwardItem::step);
  return static_cast<int>(moment) + static_cast<int>(item - plan.backward.begin());
}

}  // namespace

std::optional<NotFinite> StepRunner::find_not_finite(const BatchRows& slice, const StepInputs& in, int set) {
  std::optional<NotFinite> found;
  stage(slice, set);
  begin(slice, set);
  for (std::size_t i = 0; i < plan_.inputs.size() && !found && slice.rows > 0; ++i) {
    const plan::Tensor& tensor = plan_.tensors[at(plan_.inputs[i])];
    found = look(training_->tensor(plan_.inputs[i]), tensor.type, tensor.elements(slice.rows), &slice);
    if (found) found->layer = tensor.name, found->what = "input", found->moment = static_cast<int>(i);
  }
  pairing_ = false;
  watch_ = [&](std::size_t step, bool backward) {
    if (!found) found = look_at_op(step, backward, slice);
  };
  forward(slice, in);
  for (std::size_t i = 0; i < plan_.losses.size() && !found && slice.rows > 0; ++i) {
    if (!is_mine(plan_.losses[i])) continue;
    found = look_at_loss(plan_.losses[i], slice);
    if (found) found->moment = moment_of_step(plan_, plan_.steps.size(), false) + static_cast<int>(i);
  }
  backward(slice, in, [](const plan::BackwardItem&) {});
  watch_ = {};
  pairing_ = true;
  release(set);
  return found;
}

/// Finds non-finite values among n values in device memory. `slice`: the rows they belong to; null: no rows.
std::optional<NotFinite> StepRunner::look(const void* values, DType type, std::int64_t n, const BatchRows* slice) {
  if (values == nullptr || n == 0 || type == DType::kI32 || type == DType::kU8) return std::nullopt;
  std::vector<float> host(static_cast<std::size_t>(n));
  std::unique_ptr<backend::Buffer> floats;
  if (type != DType::kF32) {
    floats = device_.allocate(host.size() * sizeof(float));
    device_.to_float(values, type, floats->as<float>(), n, stream_);
    values = floats->data();
  }
  device_.copy_to_host(host.data(), values, host.size() * sizeof(float), stream_);
  const auto first = std::ranges::find_if(host, is_bad);
  if (first == host.end()) return std::nullopt;
  NotFinite found{.count = std::ranges::count_if(host, is_bad), .values = n};
  if (slice != nullptr) found.row = slice->first_row + (first - host.begin()) / (n / slice->rows);
  return found;
}

std::optional<NotFinite> StepRunner::look_at_op(std::size_t s, bool backward, const BatchRows& slice) {
  const plan::Step& step = plan_.steps[s];
  const BoundStep& bound = training_->step(s);
  const auto named = [&](std::optional<NotFinite> found, const std::string& what) {
    if (found) {
      found->layer = step.name, found->node = step.node, found->what = what;
      found->moment = moment_of_step(plan_, s, backward);
    }
    return found;
  };
  const auto rows_of = [&](int tensor) { return plan_.tensors[at(tensor)].elements(slice.rows); };
  if (!backward) {
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const int output = step.outputs[i];
      if (auto found = named(look(bound.outputs[i], plan_.tensors[at(output)].type, rows_of(output), &slice), "output"))
        return found;
    }
    return std::nullopt;
  }
  for (std::size_t i = 0; i < step.parameters.size(); ++i) {
    const plan::Parameter& parameter = plan_.parameters[at(step.parameters[i])];
    if (!step.parameter_gradients[i]) continue;
    const std::string name = parameter.path.substr(parameter.path.rfind('/') + 1);
    const bool statistic = parameter.kind == plan::ParameterKind::kStatistic;
    if (auto found = named(look(bound.weight_gradients[i], DType::kF32, parameter.elements(), nullptr),
                           statistic ? "new " + name : "gradient of " + name))
      return found;
  }
  for (std::size_t i = 0; i < step.input_gradients.size(); ++i)
    if (step.input_gradients[i] != plan::kAbsent)
      if (auto found = named(
              look(bound.input_gradients[i], plan_.tensors[at(step.inputs[i])].type, rows_of(step.inputs[i]), &slice),
              "gradient of its input"))
        return found;
  return std::nullopt;
}

std::optional<NotFinite> StepRunner::look_at_loss(const plan::LossStep& loss, const BatchRows& slice) {
  double sum = 0;
  device_.copy_to_host(&sum, sums_of(loss), sizeof(sum), stream_);
  std::optional<NotFinite> found;
  if (loss.prediction_gradient != plan::kAbsent) {
    const plan::Tensor& gradient = plan_.tensors[at(loss.prediction_gradient)];
    found = look(training_->tensor(loss.prediction_gradient), gradient.type, gradient.elements(slice.rows), &slice);
  }
  const std::string name = (loss.name.empty() ? "" : loss.name + "_") + std::string("loss");
  if (found) found->what = loss.name.empty() ? "gradient of the loss" : "gradient of " + name;
  if (std::isfinite(sum)) return found;
  return NotFinite{.what = name, .count = 1, .values = 1, .row = found ? found->row : -1};
}

// Profiling of a StepRunner's passes.

void StepRunner::note_pass(std::size_t s, std::int64_t rows, bool backward, double seconds) {
  const plan::Step& step = plan_.steps[s];
  double operations = 0;
  if (ops_[s]) {
    const auto [forward, backward_too] = ops_[s]->flops_per_sample();
    operations = (backward ? backward_too : forward) * static_cast<double>(rows * step.frames);
  }
  const std::uint64_t saved = needs_[s].saved * static_cast<std::uint64_t>(rows) / static_cast<std::uint64_t>(rows_);
  const plan::Traffic traffic = backward ? plan::backward_traffic(plan_, step, device_, rows, saved)
                                         : plan::forward_traffic(plan_, step, device_, rows, saved);
  (backward ? profile_.steps[s].backward : profile_.steps[s].forward)
      .add({.seconds = seconds, .operations = operations, .bytes = traffic.bytes, .set = traffic.set});
}

void StepRunner::set_profiling(bool on) {
  profiling_ = on;
  if (on) profile_ = {.steps = std::vector<Replica::StepProfile>(plan_.steps.size())};
}

double StepRunner::operations_per_sample() const {
  double sum = 0;
  for (std::size_t s = 0; s < ops_.size(); ++s) {
    const plan::Step& step = plan_.steps[s];
    if (!ops_[s] || step.fused_into_loss) continue;
    const auto [forward, backward] = ops_[s]->flops_per_sample();
    sum += (forward + (step.has_backward ? backward : 0)) * static_cast<double>(step.frames);
  }
  return sum;
}

void Replica::PassProfile::add(const PassProfile& more) {
  seconds += more.seconds;
  operations += more.operations;
  bytes += more.bytes;
  set = std::max(set, more.set);
}

Replica::Profile profile_of(const plan::Plan& plan, const std::vector<const StepRunner*>& slots) {
  Replica::Profile all;
  for (const plan::Step& step : plan.steps)
    all.steps.push_back(slots[at(step.slot)]->profile().steps[all.steps.size()]);
  for (const StepRunner* slot : slots) {
    all.losses.add(slot->profile().losses);
    all.sums.add(slot->profile().sums);
    all.operations_per_sample += slot->operations_per_sample();
  }
  return all;
}

}  // namespace dptrain::runtime
