#include "backend/fusible_passes.h"

#include "core/index.h"

namespace dptrain::backend {
namespace {

/// With several slots another one may read what a step writes as soon as the step has run.
bool can_fuse_passes(const plan::Plan& plan, const plan::Step& a, const plan::Step& b) {
  return plan.slot_count() == 1 && !a.copies && !b.copies && a.frames == b.frames && a.outputs.size() == 1 &&
         b.outputs.size() == 1 && !a.inputs.empty() && !b.inputs.empty() && plan.compute == DType::kF32;
}

bool same_positions(const plan::Plan& plan, int a, int b) {
  return root(plan, a) == root(plan, b) && plan.tensors[at(a)].shape == plan.tensors[at(b)].shape &&
         plan.tensors[at(a)].is_float();
}

}  // namespace

bool feeds_next_step(const plan::Plan& plan, std::size_t s) {
  if (s + 1 >= plan.steps.size()) return false;
  const plan::Step &a = plan.steps[s], &b = plan.steps[s + 1];
  return can_fuse_passes(plan, a, b) && !b.fused_into_loss && same_positions(plan, a.output(), b.inputs.front());
}

FusedPasses fused_passes(const plan::Plan& plan, const std::vector<std::unique_ptr<Op>>& ops) {
  FusedPasses fused{.defers_last_pass = std::vector<bool>(ops.size()), .epilogue = std::vector<bool>(ops.size())};
  for (std::size_t s = 0; s + 1 < ops.size(); ++s) {
    if (!ops[s] || !ops[s + 1] || !feeds_next_step(plan, s)) continue;
    const FusiblePasses *const mine = ops[s]->fusible_passes(), *const next = ops[s + 1]->fusible_passes();
    fused.defers_last_pass[s] = mine != nullptr && mine->has_last_pass() && ops[s + 1]->fused_pass_support().prologue;
    fused.epilogue[s] = next != nullptr && next->has_first_pass() && ops[s]->fused_pass_support().epilogue;
  }
  return fused;
}

}  // namespace dptrain::backend
