#include "backend/piecewise.h"

#include "core/index.h"

namespace dptrain::backend {
namespace {

/// With several slots another one may read what a step writes as soon as the step has run.
bool go_together(const plan::Plan& plan, const plan::Step& a, const plan::Step& b) {
  return plan.slot_count() == 1 && !a.copies && !b.copies && a.frames == b.frames && a.outputs.size() == 1 &&
         b.outputs.size() == 1 && !a.inputs.empty() && !b.inputs.empty() && plan.compute == DType::kF32;
}

bool same_positions(const plan::Plan& plan, int a, int b) {
  return root(plan, a) == root(plan, b) && plan.tensors[at(a)].shape == plan.tensors[at(b)].shape &&
         plan.tensors[at(a)].is_float();
}

}  // namespace

bool hands_on(const plan::Plan& plan, std::size_t s) {
  if (s + 1 >= plan.steps.size()) return false;
  const plan::Step &a = plan.steps[s], &b = plan.steps[s + 1];
  return go_together(plan, a, b) && !b.fused_into_loss && same_positions(plan, a.output(), b.inputs.front());
}

PiecePairs piece_pairs(const plan::Plan& plan, const std::vector<std::unique_ptr<Op>>& ops) {
  PiecePairs pairs{.leads = std::vector<bool>(ops.size()), .after = std::vector<bool>(ops.size())};
  for (std::size_t s = 0; s + 1 < ops.size(); ++s) {
    if (!ops[s] || !ops[s + 1] || !hands_on(plan, s)) continue;
    const PieceWise *const mine = ops[s]->piecewise(), *const next = ops[s + 1]->piecewise();
    pairs.leads[s] = mine != nullptr && mine->leads() && ops[s + 1]->takes_along().before;
    pairs.after[s] = next != nullptr && next->follows() && ops[s]->takes_along().after;
  }
  return pairs;
}

}  // namespace dptrain::backend
