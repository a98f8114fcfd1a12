#include "runtime/non_finite_search.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"

namespace dptrain::runtime {
namespace {

bool is_bad(float value) { return !std::isfinite(value); }

/// Whether the values are 16-bit floats.
bool is_converted(DType type) { return type != DType::kF32 && type != DType::kI32 && type != DType::kU8; }

/// Order of a step: inputs, forward, losses (after all steps), backward.
int moment_of_step(const plan::Plan& plan, std::size_t step, bool backward) {
  std::size_t moment = plan.inputs.size() + step;
  if (!backward) return static_cast<int>(moment);
  moment = plan.inputs.size() + plan.steps.size() + plan.losses.size();
  const auto item = std::ranges::find(plan.backward, static_cast<int>(step), &plan::BackwardItem::step);
  return static_cast<int>(moment) + static_cast<int>(item - plan.backward.begin());
}

/// Removes the observer, also if an op throws.
class Observation {
 public:
  template <class Observer>
  Observation(StepRunner& runner, const Observer& observer) : runner_(runner) {
    runner_.set_observer(observer);
  }
  ~Observation() { runner_.set_observer({}); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  StepRunner& runner_;
};

}  // namespace

NonFiniteSearch::NonFiniteSearch(StepRunner& runner)
    : runner_(runner), plan_(runner.plan()), device_(runner.device()), stream_(runner.stream()) {
  if (plan_.compute == DType::kF32) return;
  constexpr std::int64_t kFew = 16;  // enough for the kernel's wide loads
  std::int64_t largest = 2 * kFew;
  for (const plan::Tensor& tensor : plan_.tensors)
    if (is_converted(tensor.type)) largest = std::max(largest, tensor.elements(runner.memory().rows));
  floats_ = device_.allocate(static_cast<std::size_t>(largest) * sizeof(float));
  for (const std::int64_t n : {kFew, kFew - 1})
    device_.to_float(floats_->as<float>() + kFew, plan_.compute, floats_->as<float>(), n, stream_);
  stream_.synchronize();
}

std::optional<NotFinite> NonFiniteSearch::run(const BatchView& slice, const StepInputs& in, int set) {
  runner_.stage(slice, set);
  runner_.begin(slice, set);
  std::optional<NotFinite> found = check_inputs(slice);
  const Observation observation(runner_, [&](std::size_t step, bool backward) {
    if (!found) found = check_op(step, backward, slice);
  });
  runner_.forward(slice, in);
  for (std::size_t i = 0; i < plan_.losses.size() && !found && slice.rows > 0; ++i) {
    if (plan_.losses[i].slot != runner_.slot()) continue;
    found = check_loss(plan_.losses[i], slice);
    if (found) found->moment = moment_of_step(plan_, plan_.steps.size(), false) + static_cast<int>(i);
  }
  runner_.backward(slice, in, [](const plan::BackwardItem&) {});
  runner_.release(set);
  return found;
}

std::optional<NotFinite> NonFiniteSearch::check_inputs(const BatchView& slice) {
  for (std::size_t i = 0; i < plan_.inputs.size() && slice.rows > 0; ++i) {
    const plan::Tensor& tensor = plan_.tensors[at(plan_.inputs[i])];
    auto found = check(runner_.training().tensor(plan_.inputs[i]), tensor.type, tensor.elements(slice.rows), &slice);
    if (!found) continue;
    found->layer = tensor.name, found->what = "input", found->moment = static_cast<int>(i);
    return found;
  }
  return std::nullopt;
}

std::optional<NotFinite> NonFiniteSearch::check(const void* values, DType type, std::int64_t n,
                                                const BatchView* slice) {
  if (values == nullptr || n == 0 || type == DType::kI32 || type == DType::kU8) return std::nullopt;
  std::vector<float> host(static_cast<std::size_t>(n));
  if (is_converted(type)) {
    device_.to_float(values, type, floats_->as<float>(), n, stream_);
    values = floats_->data();
  }
  device_.copy_to_host(host.data(), values, host.size() * sizeof(float), stream_);
  const auto first = std::ranges::find_if(host, is_bad);
  if (first == host.end()) return std::nullopt;
  NotFinite found{.count = std::ranges::count_if(host, is_bad), .values = n};
  if (slice != nullptr) found.row = slice->first_row + (first - host.begin()) / (n / slice->rows);
  return found;
}

std::optional<NotFinite> NonFiniteSearch::check_op(std::size_t s, bool backward, const BatchView& slice) {
  const plan::Step& step = plan_.steps[s];
  const BoundStep& bound = runner_.training().step(s);
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
      if (auto found =
              named(check(bound.outputs[i], plan_.tensors[at(output)].type, rows_of(output), &slice), "output"))
        return found;
    }
    return std::nullopt;
  }
  for (std::size_t i = 0; i < step.parameters.size(); ++i) {
    const plan::Parameter& parameter = plan_.parameters[at(step.parameters[i])];
    if (!step.parameter_gradients[i]) continue;
    const std::string name = parameter.path.substr(parameter.path.rfind('/') + 1);
    const bool statistic = parameter.kind == plan::ParameterKind::kStatistic;
    if (auto found = named(check(bound.weight_gradients[i], DType::kF32, parameter.elements(), nullptr),
                           statistic ? "new " + name : "gradient of " + name))
      return found;
  }
  for (std::size_t i = 0; i < step.input_gradients.size(); ++i)
    if (step.input_gradients[i] != plan::kAbsent)
      if (auto found = named(
              check(bound.input_gradients[i], plan_.tensors[at(step.inputs[i])].type, rows_of(step.inputs[i]), &slice),
              "gradient of its input"))
        return found;
  return std::nullopt;
}

std::optional<NotFinite> NonFiniteSearch::check_loss(const plan::LossStep& loss, const BatchView& slice) {
  double sum = 0;
  device_.copy_to_host(&sum, runner_.buffers().sums_of(loss), sizeof(sum), stream_);
  std::optional<NotFinite> found;
  if (loss.prediction_gradient != plan::kAbsent) {
    const plan::Tensor& gradient = plan_.tensors[at(loss.prediction_gradient)];
    found = check(runner_.training().tensor(loss.prediction_gradient), gradient.type, gradient.elements(slice.rows),
                  &slice);
  }
  const std::string name = (loss.name.empty() ? "" : loss.name + "_") + std::string("loss");
  if (found) found->what = loss.name.empty() ? "gradient of the loss" : "gradient of " + name;
  if (std::isfinite(sum)) return found;
  return NotFinite{.what = name, .count = 1, .values = 1, .row = found ? found->row : -1};
}

}  // namespace dptrain::runtime
