// Executor::pair(): passes of a step that its neighbours run (backend/piecewise.h).

#include "replica/executor.h"

namespace dptrain::replica {

void Executor::pair(backend::OpArgs& call, std::size_t s, const BatchRows& slice, const StepInputs& in,
                    const Bindings& bindings, bool training) {
  if (!pairing_ || slice.rows == 0 || pairs_.leads.empty()) return;
  call.leads = pairs_.leads[s];
  // First passes are those of training alone.
  call.followed = s > 0 && pairs_.after[s - 1] && call.training;
  if (s > 0 && pairs_.leads[s - 1]) {
    before_ = ops_[s - 1]->piecewise()->lead();
    call.before = &before_;
  }
  if (!pairs_.after[s]) return;
  const backend::OpArgs next = args(s + 1, slice, in, bindings, training);
  if (!next.training) return;
  after_ = ops_[s + 1]->piecewise()->follow(next);
  call.after = &after_;
}

}  // namespace dptrain::replica
