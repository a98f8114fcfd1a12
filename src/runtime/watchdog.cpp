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
constexpr double kShutdownSeconds = 5;
/// A command may take this many times as long as the longest before it.
constexpr double kSlower = 3;

}  // namespace

Watchdog::Watchdog(std::vector<std::string> names, const Timeouts& timeouts, std::function<bool(int local_rank)> waits,
                   std::function<void(const std::string& why)> stop, std::function<double()> clock)
    : timeouts_(timeouts), waits_(std::move(waits)), stop_(std::move(stop)), clock_(std::move(clock)) {
  for (std::string& name : names) rank_states_.emplace_back().name = std::move(name);
}

double Watchdog::limit() const {
  return warm_ ? std::max(timeouts_.seconds, kSlower * longest_) : timeouts_.first_seconds;
}

double Watchdog::period() const { return std::min({1.0, timeouts_.seconds / 4, timeouts_.first_seconds / 4}); }

void Watchdog::begin(const std::string& where) {
  where_ = where;
  begun_ = clock_();
  for (RankState& rank_state : rank_states_) rank_state.beats = rank_state.heartbeat.beats(), rank_state.since = begun_;
}

void Watchdog::check(const std::vector<bool>& busy) {
  const double now = clock_();
  if (late_) {
    if (now - late_since_ > std::min(kShutdownSeconds, limit())) terminate_process();
    return;
  }
  const RankState* stuck = nullptr;
  bool stuck_waits = false;
  for (std::size_t local_rank = 0; local_rank < rank_states_.size(); ++local_rank) {
    RankState& rank_state = rank_states_[local_rank];
    if (const std::uint64_t beats = rank_state.heartbeat.beats(); beats != rank_state.beats)
      rank_state.beats = beats, rank_state.since = now;
    // A replica that waits for another makes no progress either. It counts as late only if no other is late by then.
    const bool waits = waits_(static_cast<int>(local_rank));
    const bool late = busy[local_rank] && now - rank_state.since > limit() + (waits ? 2 * period() : 0);
    if (late && (stuck == nullptr || (stuck_waits && !waits))) stuck = &rank_state, stuck_waits = waits;
  }
  if (stuck == nullptr) return;
  late_.emplace(ErrorKind::kDeadline,
                fmt::format("{}{}: no progress for {:.3g} s in {}; a call of the driver or of a library does not "
                            "return: continue from the last checkpoint with --resume, or raise parallel.watchdog",
                            stuck->name, where_, now - stuck->since, stuck->heartbeat.activity()));
  late_since_ = now;
  stop_(late_->what());
}

std::optional<Error> Watchdog::end() {
  longest_ = std::max(longest_, clock_() - begun_);
  return std::exchange(late_, std::nullopt);
}

void Watchdog::terminate_process() {
  if (fatal_error_handler_) fatal_error_handler_(*late_);
  log::error(fmt::format("{}; the process ends without that thread", late_->what()));
  std::fflush(nullptr);
  _exit(late_->exit_code());
}

}  // namespace dptrain::runtime
