#include "sweep/schedule.h"

#include <algorithm>
#include <utility>

namespace dptrain::sweep {
namespace {

std::size_t survivors_of(std::size_t trials, std::int64_t eta) {
  return std::max<std::size_t>(1, trials / static_cast<std::size_t>(eta));
}

}  // namespace

Schedule::Schedule(Sweep& sweep) : sweep_(sweep) {
  for (Trial& trial : sweep_.trials)
    if (trial.status == Status::kRunning) trial.status = Status::kWaiting;
  promote();
}

std::optional<std::size_t> Schedule::next() {
  const auto waits = [](const Trial& trial) { return trial.status == Status::kWaiting; };
  const auto found = std::ranges::find_if(sweep_.trials, waits);
  if (found == sweep_.trials.end()) return std::nullopt;
  found->status = Status::kRunning;
  return static_cast<std::size_t>(found - sweep_.trials.begin());
}

std::optional<std::int64_t> Schedule::epochs_of(const Trial& trial) const {
  if (sweep_.plan.rungs.empty()) return std::nullopt;
  return sweep_.plan.rungs[trial.rung];
}

void Schedule::end(std::size_t trial, Status status, Outcome outcome) {
  sweep_.trials[trial].status = status;
  sweep_.trials[trial].outcome = std::move(outcome);
  promote();
}

void Schedule::stopped(std::size_t trial) { sweep_.trials[trial].status = Status::kWaiting; }

bool Schedule::finished() const { return std::ranges::none_of(sweep_.trials, &Trial::is_left); }

/// Once the highest rung is complete, moves its best trials to the next. Repeats if all of these have ended early.
void Schedule::promote() {
  while (finished()) {
    std::size_t rung = 0;
    for (const Trial& trial : sweep_.trials) rung = std::max(rung, trial.rung);
    if (rung >= sweep_.plan.last_rung()) return;
    const auto there = static_cast<std::size_t>(std::ranges::count(sweep_.trials, rung, &Trial::rung));
    std::size_t left = survivors_of(there, sweep_.plan.eta);
    bool any = false;
    for (const std::size_t place : ranking(sweep_)) {
      Trial& trial = sweep_.trials[place];
      if (trial.rung != rung || trial.status != Status::kDone || !trial.outcome.objective || left == 0) continue;
      ++trial.rung;
      --left;
      any = true;
      if (!trial.outcome.ended_early()) trial.status = Status::kWaiting;
    }
    if (!any) return;
  }
}

std::size_t Schedule::runs_in_all() const {
  std::size_t all = 0, there = sweep_.trials.size();
  for (std::size_t rung = 0; rung <= sweep_.plan.last_rung(); ++rung) {
    all += there;
    there = survivors_of(there, sweep_.plan.eta);
  }
  return all;
}

std::size_t Schedule::runs_done() const {
  std::size_t done = 0;
  for (const Trial& trial : sweep_.trials) done += trial.rung + (trial.is_left() ? 0 : 1);
  return done;
}

}  // namespace dptrain::sweep
