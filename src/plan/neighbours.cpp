#include "plan/neighbours.h"

#include "core/index.h"

namespace dptrain::plan {
namespace {

/// With several slots another one may read what a step writes as soon as the step has run.
bool go_together(const Plan& plan, const Step& a, const Step& b) {
  return plan.slot_count() == 1 && !a.copies && !b.copies && a.frames == b.frames && a.outputs.size() == 1 &&
         b.outputs.size() == 1 && !a.inputs.empty() && !b.inputs.empty() && plan.compute == DType::kF32;
}

bool same_positions(const Plan& plan, int a, int b) {
  return root(plan, a) == root(plan, b) && plan.tensors[at(a)].shape == plan.tensors[at(b)].shape &&
         plan.tensors[at(a)].is_float();
}

}  // namespace

bool hands_on(const Plan& plan, std::size_t s) {
  if (s + 1 >= plan.steps.size()) return false;
  const Step &a = plan.steps[s], &b = plan.steps[s + 1];
  return go_together(plan, a, b) && !b.fused_into_loss && same_positions(plan, a.output(), b.inputs.front());
}

}  // namespace dptrain::plan
