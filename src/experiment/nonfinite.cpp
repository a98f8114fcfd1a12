#include "experiment/nonfinite.h"

#include <algorithm>
#include <cmath>

namespace dptrain::experiment {
namespace {

config::Family make_nonfinite_family() {
  using config::key;
  using config::Schema;
  using config::type_def;
  config::Family family("on_nonfinite");
  family.add(type_def<StopSpec>(Schema::of<StopSpec>("stop")));
  using S = SkipStepSpec;
  family.add(type_def<S>(Schema::of<S>("skip_step").positional(key("at_most", &S::at_most).at_least(1))));
  using R = RollbackSpec;
  family.add(type_def<R>(Schema::of<R>("rollback")
                             .positional(key("factor", &R::factor).above(0).at_most(1))
                             .key(key("at_most", &R::at_most).at_least(1))));
  return family;
}

}  // namespace

config::Family& nonfinite_family() {
  static config::Family family = make_nonfinite_family();
  return family;
}

Reaction NonfiniteAccount::react(bool step) {
  if (const auto* skip = wish_.get_if<SkipStepSpec>(); skip != nullptr && step && skipped_steps_ < skip->at_most) {
    ++skipped_steps_;
    return Reaction::kSkip;
  }
  if (const auto* rollback = wish_.get_if<RollbackSpec>(); rollback != nullptr && rollbacks_ < rollback->at_most) {
    ++rollbacks_;
    return Reaction::kRollBack;
  }
  return Reaction::kStop;
}

double NonfiniteAccount::factor() const {
  const auto* rollback = wish_.get_if<RollbackSpec>();
  return rollback != nullptr ? rollback->factor : 1;
}

bool all_finite(const graph::Model& model) {
  return std::ranges::all_of(model.weights, [](const graph::Weight& weight) {
    return std::ranges::all_of(weight.values, [](float value) { return std::isfinite(value); });
  });
}

}  // namespace dptrain::experiment
