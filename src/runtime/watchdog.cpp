#include "runtime/watchdog.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "core/format.h"
#include "core/log.h"

namespace dptrain::runtime {
namespace {

/// Time for the other replicas to stop.
constexpr double kFarewellSeconds = 5;
/// A command may take this many times as long as the longest before it.
constexpr double kSlower = 3;

}  // namespace

Watchdog::Watchdog(std::vector<std::string> names, const Patience& patience, std::function<bool(int lane)> waits,
                   std::function<void(const std::string& why)> stop, std::function<double()> clock)
    : patience_(patience), waits_(std::move(waits)), stop_(std::move(stop)), clock_(std::move(clock)) {
  for (std::string& name : names) seats_.emplace_back().name = std::move(name);
}

double Watchdog::limit() const {
  return warm_ ? std::max(patience_.seconds, kSlower * longest_) : patience_.first_seconds;
}

double Watchdog::period() const { return std::min({1.0, patience_.seconds / 4, patience_.first_seconds / 4}); }

void Watchdog::begin(const std::string& where) {
  where_ = where;
  begun_ = clock_();
  for (Seat& seat : seats_) seat.beats = seat.heart.beats(), seat.since = begun_;
}

void Watchdog::check(const std::vector<bool>& busy) {
  const double now = clock_();
  if (late_) {
    if (now - late_since_ > std::min(kFarewellSeconds, limit())) leave();
    return;
  }
  const Seat* stuck = nullptr;
  bool stuck_waits = false;
  for (std::size_t lane = 0; lane < seats_.size(); ++lane) {
    Seat& seat = seats_[lane];
    if (const std::uint64_t beats = seat.heart.beats(); beats != seat.beats) seat.beats = beats, seat.since = now;
    // A lane that waits for another makes no progress either. It counts as late only if no other lane is late by then.
    const bool waits = waits_(static_cast<int>(lane));
    const bool late = busy[lane] && now - seat.since > limit() + (waits ? 2 * period() : 0);
    if (late && (stuck == nullptr || (stuck_waits && !waits))) stuck = &seat, stuck_waits = waits;
  }
  if (stuck == nullptr) return;
  late_.emplace(
      ErrorKind::kDeadline,
      fmt::format(
          "{}{}: no progress for {:.3g} s in {}; a call of the driver or of a library does not return: go on from "
          "the last checkpoint with --resume, or give it more time with parallel.watchdog",
          stuck->name, where_, now - stuck->since, stuck->heart.doing()));
  late_since_ = now;
  stop_(late_->what());
}

std::optional<Error> Watchdog::end() {
  longest_ = std::max(longest_, clock_() - begun_);
  return std::exchange(late_, std::nullopt);
}

void Watchdog::leave() {
  if (last_words_) last_words_(*late_);
  log::error(fmt::format("{}; the process ends without that thread", late_->what()));
  std::fflush(nullptr);
  _exit(late_->exit_code());
}

}  // namespace dptrain::runtime
