#include "cli/activity_bar.h"

namespace dptrain::cli {
namespace {

constexpr double kPatienceSeconds = 0.5, kPeriodSeconds = 0.15;

train::BarState bar_of(const ActivityState& state) {
  return {.done = state.done,
          .total = state.total,
          .seconds = state.seconds,
          .percent = state.unit == Activity::Unit::kBytes,
          .values = " - " + state.what};
}

}  // namespace

ActivityBar::ActivityBar(train::ProgressMode mode) : progress_(mode, true) {
  if (!progress_.visible()) return;
  watch_.emplace(kPatienceSeconds, kPeriodSeconds, [this](const ActivityState* state) {
    if (state == nullptr)
      progress_.clear();
    else
      progress_.draw(bar_of(*state));
  });
}

}  // namespace dptrain::cli
