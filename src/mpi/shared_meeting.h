#pragma once

// SharedMeeting: counters in memory that several processes share, and threads of theirs that wait for them. As
// reduce/meeting.h it looks a few times, yielding, then sleeps. A process that ends in the middle leaves nothing
// locked; that it has ended those who wait are told by other ways, which they ask now and then.

#include <atomic>
#include <cstdint>
#include <functional>

namespace dptrain::mpi {

/// Only grows. What a thread wrote before it moved one on is seen by whoever has seen that. Each on a line of its own.
struct alignas(64) SharedCounter {
  std::atomic<std::uint64_t> count = 0;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class SharedMeeting {
 public:
  /// What stands in the shared memory; zeros at first.
  struct alignas(64) Place {
    std::atomic<std::uint32_t> told = 0, sleepers = 0;
  };

  explicit SharedMeeting(Place& place) : place_(place) {}

  void advance(SharedCounter& counter, std::uint64_t by = 1);
  static bool reached(const SharedCounter& counter, std::uint64_t target) {
    return counter.count.load(std::memory_order_seq_cst) >= target;
  }
  /// Those who sleep ask again.
  void tell();
  /// Returns when `ready` says so; it reads counters of this meeting. `check` is asked at least fifty times a second
  /// and throws where there is nothing to wait for any more.
  void wait(const std::function<bool()>& ready, const std::function<void()>& check);

 private:
  Place& place_;
};

}  // namespace dptrain::mpi
