#pragma once

// SharedMemory: memory that processes of one machine have in common. It has no name that could be left over: it ends
// with the last process that holds it, however that one ends, and /dev/shm, which containers keep small, does not limit
// it. Whoever makes it tells the others its Handle; they open it while the maker holds it. Any thread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dptrain::mpi {

class SharedMemory {
 public:
  /// Plain bytes, to be sent. Empty (no bytes): nothing to open.
  struct Handle {
    std::int64_t process = 0, descriptor = 0;
    std::uint64_t bytes = 0, mark = 0;
  };

  static std::string packed(const std::vector<Handle>& handles);
  static std::vector<Handle> unpacked(const std::string& bytes);

  /// Zero-filled, on a page. Throws Error{kMemory}.
  static std::shared_ptr<SharedMemory> make(std::size_t bytes);
  /// Null: it cannot be reached from here (another machine, container or user), or its maker has let it go.
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

// SharedMeeting: counters in memory that several processes share, and threads of theirs that wait for them. As
// reduce/meeting.h it looks a few times, yielding, then sleeps. A process that ends in the middle leaves nothing
// locked; that it has ended those who wait are told by other ways, which they ask now and then.

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

// SharedGather: every member gives some bytes and gets those of all, through shared memory. Members are threads, of any
// process; all gather alike, in the same order, one thread of a member at a time.

class SharedGather {
 public:
  /// Of the memory that so many members need; zeros at first.
  static std::size_t bytes(int members);
  /// `memory`: on a cache line, the same for all members; outlives this.
  SharedGather(std::byte* memory, int members, int member);

  /// Asked once for each member, in order: where its so many bytes are wanted.
  using Place = std::function<std::byte*(int member, std::size_t bytes)>;
  /// `check`: as SharedMeeting::wait.
  void gather(const void* mine, std::size_t bytes, const Place& place, const std::function<void()>& check);

 private:
  /// What is larger goes in several rounds.
  static constexpr std::size_t kRoundBytes = std::size_t{128} << 10;
  /// Two sets that take turns: a member that is in round r + 2 has seen all others in round r + 1, hence done with the
  /// set of round r.
  struct Slot {
    SharedCounter gave;
    std::size_t bytes[2];  ///< of all rounds together
    alignas(64) std::byte given[2][kRoundBytes];
  };

  SharedMeeting meeting_;
  Slot* const slots_;  ///< by member
  const int members_, member_;
  std::uint64_t rounds_ = 0;
};

}  // namespace dptrain::mpi
