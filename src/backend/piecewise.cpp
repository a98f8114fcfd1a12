#include "backend/piecewise.h"

#include "plan/neighbours.h"

namespace dptrain::backend {

PiecePairs piece_pairs(const plan::Plan& plan, const std::vector<std::unique_ptr<Op>>& ops) {
  PiecePairs pairs{.leads = std::vector<bool>(ops.size()), .after = std::vector<bool>(ops.size())};
  for (std::size_t s = 0; s + 1 < ops.size(); ++s) {
    if (!ops[s] || !ops[s + 1] || !plan::hands_on(plan, s)) continue;
    const PieceWise *const mine = ops[s]->piecewise(), *const next = ops[s + 1]->piecewise();
    pairs.leads[s] = mine != nullptr && mine->leads() && ops[s + 1]->takes_along().before;
    pairs.after[s] = next != nullptr && next->follows() && ops[s]->takes_along().after;
  }
  return pairs;
}

}  // namespace dptrain::backend
