#pragma once

// Meeting: counters that only grow and threads that wait for them. One object for all replicas of a process; any
// thread. A waiter looks a few times, yielding, then sleeps, so that a late replica keeps its core.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace dptrain::reduce {

class Meeting {
 public:
  using Counter = std::atomic<std::uint64_t>;

  /// What the caller wrote before is seen by whoever has seen the counter.
  void advance(Counter& counter);
  static bool reached(const Counter& counter, std::uint64_t target) {
    return counter.load(std::memory_order_acquire) >= target;
  }
  /// Returns when the counter has reached the target. Throws Error{kDevice} after abort().
  void wait(const Counter& counter, std::uint64_t target);

  /// Everybody who waits, and whoever comes later, throws with the first reason given.
  void abort(const std::string& why) noexcept;
  void throw_if_aborted();

 private:
  std::atomic<bool> aborted_ = false;
  std::atomic<int> sleepers_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string why_;  ///< guarded by mutex_
};

}  // namespace dptrain::reduce
