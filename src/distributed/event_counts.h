#pragma once

// EventCounts: counters that only grow and threads that wait for them. One object for all replicas of a process; any
// thread. A waiter looks a few times, yielding, then sleeps, so that a late replica keeps its core. Only who moves a
// counter on to where somebody waits for it wakes anybody: of a hundred replicas that come one by one, the last.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/cpu/spin.h"

namespace dptrain::distributed {

class EventCounts {
 public:
  using Counter = std::atomic<std::uint64_t>;
  /// A counter that many threads move on and look at, away from what else they write: some processors fetch lines of
  /// the cache in pairs.
  struct alignas(kernels::cpu::kApart) PaddedCounter {
    Counter count = 0;
  };

  /// What the caller wrote before is seen by whoever has seen the counter.
  void signal(Counter& counter);
  static bool is_reached(const Counter& counter, std::uint64_t target) {
    return counter.load(std::memory_order_acquire) >= target;
  }
  /// Returns when the counter has reached the target. Throws Error{kDevice} after abort().
  void wait(const Counter& counter, std::uint64_t target);

  /// Everybody who waits, and whoever comes later, throws with the first reason given.
  void abort(const std::string& why) noexcept;
  void throw_if_aborted();

 private:
  struct Sleeper {
    const Counter* counter;
    std::uint64_t target;
  };

  // Read at every look and by everybody who moves a counter on.
  alignas(kernels::cpu::kApart) std::atomic<bool> aborted_ = false;
  std::atomic<int> sleepers_ = 0;
  alignas(kernels::cpu::kApart) std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<const Sleeper*> sleeping_;
  std::string why_;
};

}  // namespace dptrain::distributed
