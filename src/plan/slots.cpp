// Copies between slots.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "nn/activations.h"
#include "nn/layer.h"
#include "nn/normalization.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

using Kind = BackwardItem::Kind;

/// Copies each tensor that a step reads in another slot, once per slot, just before its first reader.
class SlotCrossing {
 public:
  explicit SlotCrossing(Plan& plan) : plan_(plan) {}

  void run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (Step& step : steps) {
      check(step);
      for (int& input : step.inputs) input = brought(input, step.slot);
      for (const int output : step.outputs) maker_[output] = step.node;
      plan_.steps.push_back(std::move(step));
    }
    for (LossStep& loss : plan_.losses) {
      // Replicas add up the number of valid positions in the primary slot.
      const Tensor& prediction = plan_.tensors[at(root(plan_, loss.prediction))];
      loss.slot = loss.masked() || prediction.external ? 0 : prediction.slot;
      loss.prediction = brought(loss.prediction, loss.slot);
      if (loss.has_mask_tensor()) loss.mask = brought(loss.mask, loss.slot);
    }
  }

 private:
  /// Refuses synchronized BatchNormalization in secondary slots: replicas synchronize only in the primary slot.
  void check(const Step& step) const {
    const auto* norm = step.spec.get_if<nn::BatchNormalizationSpec>();
    if (norm == nullptr || !norm->synchronized || step.slot == 0 || step.inference_mode) return;
    throw config::error_at(
        ErrorKind::kUsage, step.spec.mark(),
        fmt::format("BatchNormalization '{}': synchronized requires the first slot, {}, found device {}; "
                    "set device: {}, or remove synchronized",
                    step.name, plan_.slots.front().front(), plan_.slots[at(step.slot)].front(),
                    plan_.slots.front().front()));
  }

  int add_tensor(Tensor tensor) {
    plan_.tensors.push_back(std::move(tensor));
    return last_index(plan_.tensors.size());
  }

  /// The tensor, or its copy in `slot`.
  int brought(int tensor, int slot) {
    const int source = root(plan_, tensor);
    const Tensor from = plan_.tensors[at(source)];
    if (from.external || from.slot == slot) return tensor;
    const auto [place, is_new] = brought_.try_emplace({source, slot}, kAbsent);
    if (is_new) place->second = copy(source, from, slot);
    if (source == tensor) return place->second;
    const auto [view, is_new_view] = brought_.try_emplace({tensor, slot}, kAbsent);
    if (is_new_view) {
      Tensor seen = plan_.tensors[at(tensor)];
      seen.alias_of = brought_.at({source, slot});
      seen.slot = slot;
      view->second = add_tensor(std::move(seen));
    }
    return view->second;
  }

  int copy(int source, const Tensor& from, int slot) {
    const std::string name = fmt::format("{} to {}", from.name, plan_.slots[at(slot)].front());
    const int to = add_tensor({.name = name, .shape = from.shape, .slot = slot, .type = from.type});
    plan_.steps.push_back({.name = name,
                           .node = maker_.at(source),
                           .slot = slot,
                           .copies = true,
                           .spec = nn::layer_family().make(nn::ActivationSpec{}),
                           .inputs = {source},
                           .outputs = {to}});
    return to;
  }

  Plan& plan_;
  std::map<int, int> maker_;                      ///< per tensor: its node
  std::map<std::pair<int, int>, int> brought_{};  ///< per tensor and slot: the copy
};

/// The memory that an item writes: true and a parameter, or false and the tensor that owns it.
std::pair<bool, int> place_of(const Plan& plan, const BackwardItem& item) {
  const bool parameter = item.kind == Kind::kAccumulateParameter || item.kind == Kind::kFetchParameter;
  return {parameter, parameter ? item.destination : root(plan, item.destination)};
}

/// Delays fetches, and later items that write or read the same memory, until a step reads the result.
class Delay {
 public:
  explicit Delay(Plan& plan) : plan_(plan) {}

  void run() {
    for (BackwardItem& item : std::exchange(plan_.backward, {})) {
      const bool fetches = item.kind == Kind::kFetchTensor || item.kind == Kind::kFetchParameter;
      if (fetches || is_late(item)) {
        late_.push_back(std::move(item));
        continue;
      }
      if (item.kind == Kind::kStep) let_go(plan_.steps[at(item.step)].output_gradients);
      plan_.backward.push_back(std::move(item));
    }
    plan_.backward.insert(plan_.backward.end(), late_.begin(), late_.end());
  }

 private:
  /// Whether a delayed item writes the memory that this item reads or writes.
  bool is_late(const BackwardItem& item) const {
    if (item.kind == Kind::kStep) return false;
    return std::ranges::any_of(late_, [&](const BackwardItem& other) {
      const auto place = place_of(plan_, other);
      return place == place_of(plan_, item) || place == std::pair(false, root(plan_, item.source));
    });
  }

  /// Moves the delayed items that these tensors depend on into the plan, in their order.
  void let_go(const std::vector<int>& tensors) {
    std::set<std::pair<bool, int>> wanted;
    for (const int tensor : tensors)
      if (tensor != kAbsent) wanted.emplace(false, root(plan_, tensor));
    std::vector<bool> goes(late_.size(), false);
    for (std::size_t i = late_.size(); i-- > 0;) {
      goes[i] = wanted.contains(place_of(plan_, late_[i]));
      if (goes[i]) wanted.emplace(false, root(plan_, late_[i].source));
    }
    std::vector<BackwardItem> rest;
    for (std::size_t i = 0; i < late_.size(); ++i) (goes[i] ? plan_.backward : rest).push_back(std::move(late_[i]));
    late_ = std::move(rest);
  }

  Plan& plan_;
  std::vector<BackwardItem> late_;
};

}  // namespace

void cross_slots(Draft& draft) {
  if (draft.plan.slot_count() > 1) SlotCrossing(draft.plan).run();
}

void delay_fetches(Plan& plan) {
  if (plan.slot_count() > 1) Delay(plan).run();
}

}  // namespace dptrain::plan
