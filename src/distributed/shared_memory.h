#pragma once

// SharedMemory: memory shared by processes of one machine. It has no name that could outlive the run: the system frees
// it when the last process that maps it ends, even by a crash. The size of /dev/shm, which is small in containers, does
// not limit it. The maker sends its Handle to the other processes, which open it while the maker keeps it. Any thread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dptrain::distributed {

class SharedMemory {
 public:
  /// Plain bytes that can be sent. Empty (no bytes): nothing to open.
  struct Handle {
    std::int64_t process = 0, descriptor = 0;
    std::uint64_t bytes = 0, mark = 0;
  };

  static std::string to_bytes(const std::vector<Handle>& handles);
  static std::vector<Handle> from_bytes(const std::string& bytes);

  /// Zero-filled and page-aligned. Throws Error{kMemory}, or Error{kDevice} if the system cannot make it.
  static std::shared_ptr<SharedMemory> make(std::size_t bytes);
  /// Null: not reachable from here (another machine, container or user), or released by its maker.
  static std::shared_ptr<SharedMemory> open(const Handle& handle);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Handle handle() const { return handle_; }
  std::byte* data() const;
  std::size_t bytes() const { return handle_.bytes; }
  template <class T>
  T* as(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(data() + offset);
  }

 private:
  SharedMemory(int descriptor, const Handle& handle);

  const int descriptor_;
  const Handle handle_;
  void* mapped_ = nullptr;
};

// SharedEventCounts: counters in memory that several processes share, and waiting for them. As in
// distributed/event_counts.h, a waiting thread polls a few times, yielding, then sleeps. A process that ends
// unexpectedly leaves no lock. Waiting threads detect its end through the regular calls of `check`.

/// Only grows. A thread that reads a count sees everything written before the signal() to it. One cache line each.
struct alignas(64) SharedCounter {
  std::atomic<std::uint64_t> count = 0;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class SharedEventCounts {
 public:
  /// The part in shared memory, initially zero.
  struct alignas(64) State {
    std::atomic<std::uint32_t> notified = 0, sleepers = 0;
  };

  explicit SharedEventCounts(State& place) : place_(place) {}

  void signal(SharedCounter& counter);
  static bool is_reached(const SharedCounter& counter, std::uint64_t target) {
    return counter.count.load(std::memory_order_seq_cst) >= target;
  }
  /// Wakes the sleeping threads, which evaluate their conditions again.
  void notify();
  /// Returns when `ready` returns true; `ready` reads counters of this object. Calls `check` about fifty times a second
  /// or more often; `check` throws if waiting has become pointless.
  void wait(const std::function<bool()>& ready, const std::function<void()>& check);

 private:
  State& place_;
};

// SharedGather: an all-gather of bytes through shared memory. Members are threads of any process. All call gather() in
// the same order; a member uses one thread at a time.

class SharedGather {
 public:
  /// Size of the shared memory for this number of members, which must be initially zero.
  static std::size_t bytes(int members);
  /// `memory`: aligned to a cache line, the same for all members; outlives this object.
  SharedGather(std::byte* memory, int members, int member);

  /// Called once for each member, in order: returns the destination of its bytes.
  using Destination = std::function<std::byte*(int member, std::size_t bytes)>;
  /// `check`: as in SharedEventCounts::wait.
  void gather(const void* mine, std::size_t bytes, const Destination& place, const std::function<void()>& check);

 private:
  /// Larger inputs take several rounds.
  static constexpr std::size_t kRoundBytes = std::size_t{128} << 10;
  /// Two alternating sets of buffers. Before a member begins round r + 2, all have arrived in round r + 1, so no member
  /// still uses the set of round r.
  struct Slot {
    SharedCounter sent;
    std::size_t bytes[2];  ///< size of the whole input, over all rounds
    alignas(64) std::byte given[2][kRoundBytes];
  };

  SharedEventCounts counts_;
  Slot* const slots_;  ///< one per member
  const int members_, member_;
  std::uint64_t rounds_ = 0;
};

}  // namespace dptrain::distributed
