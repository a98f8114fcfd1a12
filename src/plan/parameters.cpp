#include <algorithm>
#include <numeric>

#include "plan/stages.h"
#include "plan/weight_order.h"

namespace dptrain::plan {
namespace {

ParameterKind kind_of(const graph::Weight& weight, const graph::Layer& layer) {
  if (weight.trainable) return ParameterKind::kTrainable;
  const bool statistic = !weight.def.trainable && !weight.def.constant && layer.trainable;
  return statistic ? ParameterKind::kStatistic : ParameterKind::kFrozen;
}

std::int64_t aligned(std::int64_t elements) {
  return (elements + kAlignElements - 1) / kAlignElements * kAlignElements;
}

bool is_of_parameter(const BackwardItem& item) {
  return item.kind == BackwardItem::Kind::kAccumulateParameter || item.kind == BackwardItem::Kind::kFetchParameter;
}

/// Per parameter, the backward item that completes its gradient; kAbsent: no gradient.
std::vector<int> completions(const Plan& plan) {
  std::vector<int> done(plan.parameters.size(), kAbsent);
  for (int i = 0; i <= last_index(plan.backward.size()); ++i) {
    const BackwardItem& item = plan.backward[at(i)];
    if (is_of_parameter(item)) done[at(item.destination)] = i;
    if (item.kind != BackwardItem::Kind::kStep) continue;
    const Step& step = plan.steps[at(item.step)];
    for (std::size_t k = 0; k < step.parameters.size(); ++k)
      if (step.parameter_gradients[k]) done[at(step.parameters[k])] = i;
  }
  return done;
}

std::vector<int> used_by_steps(const Plan& plan) {
  std::vector<bool> used(plan.parameters.size(), false);
  for (const Step& step : plan.steps)
    for (const int p : step.parameters) used[at(p)] = true;
  std::vector<int> indices;
  for (int p = 0; p <= last_index(used.size()); ++p)
    if (used[at(p)]) indices.push_back(p);
  return indices;
}

/// Sorts parameters into arena order and updates their indices. Drops those that a part of a graph does not read.
void reorder(Plan& plan, Part part, std::vector<int>& done) {
  std::vector<int> order = part == Part::kWhole ? std::vector<int>(plan.parameters.size()) : used_by_steps(plan);
  if (part == Part::kWhole) std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int p) { return std::pair(plan.parameters[at(p)].kind, done[at(p)]); };
  std::ranges::stable_sort(order, [&](int a, int b) { return key(a) < key(b); });

  std::vector<int> place(plan.parameters.size(), kAbsent), done_sorted;
  std::vector<Parameter> sorted;
  for (const int p : order) {
    place[at(p)] = last_index(sorted.size()) + 1;
    sorted.push_back(std::move(plan.parameters[at(p)]));
    done_sorted.push_back(done[at(p)]);
  }
  plan.parameters = std::move(sorted);
  done = std::move(done_sorted);
  for (Step& step : plan.steps)
    for (int& p : step.parameters) p = place[at(p)];
  for (BackwardItem& item : plan.backward)
    if (is_of_parameter(item)) item.destination = place[at(item.destination)];
}

void place(Plan& plan) {
  for (Parameter& p : plan.parameters) {
    p.offset = plan.total;
    plan.total += aligned(p.elements());
    if (p.kind == ParameterKind::kTrainable) plan.trainable_end = plan.total;
    if (p.kind == ParameterKind::kTrainable || p.kind == ParameterKind::kStatistic) plan.statistics_end = plan.total;
    if (p.kind == ParameterKind::kTable) plan.table_floats = plan.total - plan.statistics_end;
  }
}

/// Cuts [0, statistics_end) between parameters. A bucket exceeds its limit only if a single parameter does. It is ready
/// after the item that completes its last gradient; statistics are ready after the last item.
void cut_buckets(Plan& plan, const PlanOptions& options, const std::vector<int>& done) {
  constexpr std::uint64_t kFloatBytes = sizeof(float), kMin = std::uint64_t{64} << 10, kMax = 25U << 20;
  const std::uint64_t each = options.bucket_bytes.value_or(
      std::clamp(static_cast<std::uint64_t>(plan.statistics_end) * kFloatBytes / 8, kMin, kMax));
  std::vector<int> ready;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    Parameter& p = plan.parameters[i];
    if (p.offset >= plan.statistics_end) break;
    const std::int64_t end = p.offset + aligned(p.elements());
    const std::uint64_t limit = plan.buckets.size() == 1 ? std::min(options.first_bucket_bytes, each) : each;
    if (plan.buckets.empty() || static_cast<std::uint64_t>(end - plan.buckets.back().begin) * kFloatBytes > limit) {
      plan.buckets.push_back({p.offset, p.offset});
      ready.push_back(0);
    }
    plan.buckets.back().end = end;
    p.bucket = last_index(plan.buckets.size());
    const int after = p.kind == ParameterKind::kStatistic ? last_index(plan.backward.size()) : done[i];
    ready.back() = std::max(ready.back(), after);
  }
  for (int k = 0; k <= last_index(ready.size()) && !plan.backward.empty(); ++k)
    plan.backward[at(ready[at(k)])].buckets_ready.push_back(k);
}

}  // namespace

void list_parameters(Draft& draft) {
  const graph::Model& model = draft.model;
  const auto order = [&](const graph::Weight& weight, int index) {
    const graph::Layer& layer = model.graph.layers[at(weight.layer)];
    const auto place = static_cast<std::size_t>(std::ranges::find(layer.weights, index) - layer.weights.begin());
    return weight_order(draft.device, layer.spec, place);
  };
  for (int w = 0; w <= last_index(model.weights.size()); ++w) {
    const graph::Weight& weight = model.weights[at(w)];
    const ParameterKind kind = kind_of(weight, model.graph.layers[at(weight.layer)]);
    draft.plan.parameters.push_back(
        {.weight = w,
         .path = weight.path(model.graph),
         .shape = weight.def.shape,
         .order = order(weight, w),
         .kind = kind,
         .penalty = kind == ParameterKind::kTrainable ? nn::penalty(weight.def.regularizer) : nn::Penalty{},
         .momentum = weight.def.momentum});
  }
}

void lay_out_parameters(Draft& draft) {
  Plan& plan = draft.plan;
  std::vector<int> done = completions(plan);
  if (plan.has_loss())
    for (std::size_t p = 0; p < done.size(); ++p)  // layers that no output depends on
      if (is_trained(plan.parameters[p].kind) && done[p] == kAbsent) {
        plan.parameters[p].kind = ParameterKind::kFrozen;
        plan.parameters[p].penalty = {};
      }
  reorder(plan, draft.options.part, done);
  place(plan);
  if (plan.has_loss()) cut_buckets(plan, draft.options, done);
}

}  // namespace dptrain::plan
