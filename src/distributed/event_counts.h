#pragma once

// EventCounts: monotonic counters, and threads that wait until a counter reaches a target. One object for all replicas
// of a process; any thread. A waiting thread polls a few times, yielding, then sleeps. signal() wakes threads only if
// it reaches a target that one waits for.

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
  /// Alone in its cache lines, because many threads read and write it. Some processors fetch cache lines in pairs.
  struct alignas(kernels::cpu::kCacheLinePairBytes) PaddedCounter {
    Counter count = 0;
  };

  /// Release operation: a thread that reads the new count sees everything the caller wrote before.
  void signal(Counter& counter);
  static bool is_reached(const Counter& counter, std::uint64_t target) {
    return counter.load(std::memory_order_acquire) >= target;
  }
  /// Returns when the counter has reached the target. Throws Error{kDevice} after abort().
  void wait(const Counter& counter, std::uint64_t target);

  /// Makes current and later waits throw, with the reason of the first call.
  void abort(const std::string& why) noexcept;
  void throw_if_aborted();

 private:
  struct Sleeper {
    const Counter* counter;
    std::uint64_t target;
  };

  // Read by every poll and every signal().
  alignas(kernels::cpu::kCacheLinePairBytes) std::atomic<bool> aborted_ = false;
  std::atomic<int> sleepers_ = 0;
  alignas(kernels::cpu::kCacheLinePairBytes) std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<const Sleeper*> sleeping_;
  std::string why_;
};

}  // namespace dptrain::distributed
