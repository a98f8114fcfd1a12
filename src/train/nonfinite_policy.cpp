#include "train/nonfinite_policy.h"

#include <algorithm>
#include <cmath>

namespace dptrain::train {

Reaction NonFinitePolicy::react(bool step) {
  if (const auto* skip = setting_.get_if<experiment::SkipStepSpec>();
      skip != nullptr && step && skipped_steps_ < skip->at_most) {
    ++skipped_steps_;
    return Reaction::kSkip;
  }
  if (const auto* rollback = setting_.get_if<experiment::RollbackSpec>();
      rollback != nullptr && rollbacks_ < rollback->at_most) {
    ++rollbacks_;
    return Reaction::kRollBack;
  }
  return Reaction::kStop;
}

void NonFinitePolicy::restore(std::int64_t skipped_steps, std::int64_t rollbacks) {
  skipped_steps_ = std::max(skipped_steps_, skipped_steps);
  rollbacks_ = std::max(rollbacks_, rollbacks);
}

double NonFinitePolicy::factor() const {
  const auto* rollback = setting_.get_if<experiment::RollbackSpec>();
  return rollback != nullptr ? rollback->factor : 1;
}

bool all_finite(const graph::Model& model) {
  return std::ranges::all_of(model.weights, [](const graph::Weight& weight) {
    return std::ranges::all_of(weight.values, [](float value) { return std::isfinite(value); });
  });
}

}  // namespace dptrain::train
