#pragma once

// Watchdog: detects a replica whose thread makes no progress because a call of a driver or library does not return.
// Such a thread can be neither interrupted nor joined. So the watchdog reports it, lets the other replicas stop, and
// ends the process. The replicas' threads update the heartbeats; one thread at a time (PeriodicCheck) calls the other
// functions.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace dptrain::runtime {

// Heartbeat: progress of a replica's thread. The thread calls beat() at the start of each activity; a Watchdog reads
// it.

class Heartbeat {
 public:
  /// The thread begins `what` ("forward of layer", a literal) for `whose`, which must outlive all reads of this object.
  void beat(const char* what, const std::string* whose = nullptr) noexcept {
    whose_.store(whose, std::memory_order_relaxed);
    what_.store(what, std::memory_order_relaxed);
    beats_.fetch_add(1, std::memory_order_release);
  }

  std::uint64_t beats() const noexcept { return beats_.load(std::memory_order_acquire); }
  /// "forward of layer conv2"
  std::string activity() const {
    const std::string* whose = whose_.load(std::memory_order_relaxed);
    return what_.load(std::memory_order_relaxed) + (whose != nullptr ? " " + *whose : "");
  }

 private:
  std::atomic<std::uint64_t> beats_ = 0;
  std::atomic<const char*> what_ = "nothing yet";
  std::atomic<const std::string*> whose_ = nullptr;
};

/// The longest time without a beat. If some step takes longer than a third of `seconds`, three times the longest step
/// is allowed.
struct Timeouts {
  double seconds = 60;
  double first_seconds = 600;  ///< in the first step, which loads kernels, chooses engines and connects ranks
};

class Watchdog {
 public:
  /// `waits`: whether a replica's thread waits for another rank. `stop`: stops the other replicas, with the reason;
  /// called once, by check(). `clock`: in seconds.
  Watchdog(std::vector<std::string> names, const Timeouts& timeouts, std::function<bool(int local_rank)> waits,
           std::function<void(const std::string& why)> stop, std::function<double()> clock = now_seconds);

  Heartbeat& heartbeat(int local_rank) { return rank_states_[static_cast<std::size_t>(local_rank)].heartbeat; }
  /// Called before the process ends without joining its threads, to save data.
  void set_fatal_error_handler(std::function<void(const Error& why)> fatal_error_handler) {
    fatal_error_handler_ = std::move(fatal_error_handler);
  }

  /// A command begins on all replicas; `where`: ", step 412" or "".
  void begin(const std::string& where);
  /// Called every period() seconds during a command; `busy`: per local rank, whether it still runs. Ends the process
  /// with the exit code of ErrorKind::kDeadline if the command has not ended shortly after a thread was found to hang.
  void check(const std::vector<bool>& busy);
  /// The command has ended on all replicas. Returns the error of a thread that was late but has continued after all.
  std::optional<Error> end();
  /// The first step is done.
  void warm() { warm_ = true; }

  double period() const;

 private:
  struct RankState {
    std::string name;
    Heartbeat heartbeat;
    std::uint64_t beats = 0;
    double since = 0;  ///< time at which the last new beat was seen
  };

  double limit() const;
  [[noreturn]] void terminate_process();

  std::deque<RankState> rank_states_;
  const Timeouts timeouts_;
  const std::function<bool(int local_rank)> waits_;
  const std::function<void(const std::string& why)> stop_;
  const std::function<double()> clock_;
  std::function<void(const Error& why)> fatal_error_handler_;
  std::string where_;
  bool warm_ = false;
  double longest_ = 0, begun_ = 0;
  std::optional<Error> late_;
  double late_since_ = 0;
};

}  // namespace dptrain::runtime
