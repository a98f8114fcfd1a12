#include "kernels/cpu/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/cpu/spin.h"

namespace dptrain::kernels::cpu {
namespace {

thread_local bool at_work = false;

/// Moves a helper off the caller's core if another core is allowed. Next to another process's thread, the scheduler
/// tends to keep helper and caller on one core, so that they share half of two cores. After the move it is free again.
class StepAside {
 public:
  void from(int core) noexcept {
    if (core < 0 || sched_getcpu() != core) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kAtMostEvery) return;
    last_ = now;
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
  }

 private:
  static constexpr std::chrono::milliseconds kAtMostEvery{2};  // limits moves if there are more threads than cores
  std::chrono::steady_clock::time_point last_{};
};

/// A calling thread and its helpers. A call uses at most as many threads as there are pieces. Each thread takes the
/// pieces of its own range in order, then those left in other ranges. So it tends to read what it wrote in the kernel
/// before, from its core's caches.
///
/// `call_` contains the number of threads that may join, and is closed when a thread finds no piece left. There is no
/// shared counter of running helpers, as its cache line would move between cores. A helper sets its own `work` flag
/// before it reads `call_`, and the caller reads the flags after the call is closed (sequentially consistent). So
/// either the helper finds the call closed and accesses nothing, or the caller waits for it.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { end_helpers(); }

  int threads() const noexcept { return static_cast<int>(seats_.size()); }

  void resize(int threads) {
    if (threads == this->threads()) return;
    end_helpers();
    seats_ = std::vector<Seat>(static_cast<size_t>(threads));
    helpers_.reserve(static_cast<size_t>(threads - 1));
    for (int slot = 1; slot < threads; ++slot) helpers_.emplace_back([this, slot] { help(slot); });
  }

  void run(int64_t pieces, PieceFunction function, const void* work) noexcept {
    function_ = function;
    work_ = work;
    core_ = sched_getcpu();
    const int64_t count = std::min({pieces, static_cast<int64_t>(seats_.size()), kMostSlots});
    int64_t begin = 0;
    for (int64_t slot = 0; slot < count; ++slot) {
      Seat& seat = seats_[static_cast<size_t>(slot)];
      seat.next.store(begin, std::memory_order_relaxed);
      seat.end = begin = ((slot + 1) * pieces + count - 1) / count;  // the caller has the first piece
    }
    const uint64_t number = (call_.load(std::memory_order_relaxed) >> kSlotBits) + 1;
    const uint64_t call = number << kSlotBits | static_cast<uint64_t>(count);
    call_.store(call);
    // A helper that counts as asleep only after this line does not miss the call: it reads call_ again before it
    // sleeps.
    const bool wakes = sleepers_.load() != 0;
    if (wakes) {
      next_to_wake_.store(1, std::memory_order_relaxed);
      wake_some(call);
    }
    take_pieces(0, call);
    for (int64_t slot = 1; slot < count; ++slot) wait_for(seats_[static_cast<size_t>(slot)]);
    if (wakes) next_to_wake_.store(kNobody, std::memory_order_relaxed);
  }

 private:
  /// A call: its number, and in the lowest bits the number of slots that may join; 0: closed.
  static constexpr int kSlotBits = 16;
  static constexpr uint64_t kSlots = (uint64_t{1} << kSlotBits) - 1, kEnd = ~uint64_t{0};
  static constexpr int64_t kMostSlots = kSlots - 1;  // no call is kEnd
  static int64_t slots_of(uint64_t call) noexcept { return static_cast<int64_t>(call & kSlots); }

  /// States of a helper. A caller that goes to sleep changes kAtWork to kAwaited.
  static constexpr uint32_t kAway = 0, kAtWork = 1, kAwaited = 2;
  /// Maximum number of helpers that a thread wakes before it takes pieces: waking one takes a microsecond or two.
  static constexpr int kWakes = 4;
  static constexpr int kNobody = std::numeric_limits<int>::max();

  /// One per thread; the caller has the first.
  struct Seat {
    alignas(kApart) std::atomic<int64_t> next{0};  // the next piece of its range; all threads take pieces
    int64_t end = 0;
    alignas(kApart) std::atomic<uint32_t> work{kAway};  // state of a helper, written twice per call
    std::atomic<uint32_t> asleep{0};                    // 1: sleeping or about to sleep
  };
  static_assert(sizeof(Seat) == 2 * kApart, "`next` and `work` are in different cache lines");

  void end_helpers() noexcept {
    call_.store(kEnd);
    for (Seat& seat : seats_) wake(seat);
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
    call_.store(0);
  }

  /// Takes pieces until none is left, then closes the call.
  void take_pieces(int slot, uint64_t call) noexcept {
    at_work = true;
    const auto count = static_cast<size_t>(slots_of(call));
    // Once the call is closed, all ranges are empty: other threads need not read them all.
    for (size_t i = 0; i < count && call_.load(std::memory_order_relaxed) == call; ++i) {
      Seat& seat = seats_[(static_cast<size_t>(slot) + i) % count];
      // Read before fetch_add, so that threads do not write to the cache lines of empty ranges.
      while (seat.next.load(std::memory_order_relaxed) < seat.end) {
        const int64_t piece = seat.next.fetch_add(1, std::memory_order_relaxed);
        if (piece < seat.end) function_(work_, piece, slot);
      }
    }
    at_work = false;
    uint64_t open = call;
    if (call_.load() == open) call_.compare_exchange_strong(open, call & ~kSlots);
  }

  void help(int slot) noexcept {
    Seat& seat = seats_[static_cast<size_t>(slot)];
    StepAside step_aside;
    const auto called = [&] { return slot < slots_of(call_.load(std::memory_order_acquire)); };
    for (;;) {
      if (!called() && !spin_until(called)) {
        sleep(seat, slot);
        continue;
      }
      seat.work.store(kAtWork);
      const uint64_t call = call_.load();
      if (call == kEnd) return;
      if (slot < slots_of(call)) {
        wake_some(call);
        step_aside.from(core_);
        take_pieces(slot, call);
      }
      if (seat.work.exchange(kAway) == kAwaited) seat.work.notify_one();
    }
  }

  /// Called by the caller after the call is closed: waits until the helper has left it.
  static void wait_for(Seat& seat) noexcept {
    const auto away = [&] { return seat.work.load() == kAway; };
    if (away() || spin_until(away)) return;
    for (;;) {
      uint32_t seen = kAtWork;
      if (!seat.work.compare_exchange_strong(seen, kAwaited) && seen == kAway) return;
      seat.work.wait(kAwaited);
    }
  }

  /// Either the caller that opens a call reads `asleep`, or the sleeper reads the new call.
  void sleep(Seat& seat, int slot) noexcept {
    sleepers_.fetch_add(1);
    seat.asleep.store(1);
    if (slot >= slots_of(call_.load())) seat.asleep.wait(1);
    seat.asleep.store(0);
    sleepers_.fetch_sub(1);
  }

  static bool wake(Seat& seat) noexcept {
    if (seat.asleep.load() == 0 || seat.asleep.exchange(0) == 0) return false;
    seat.asleep.notify_one();
    return true;
  }

  /// Wakes the next sleepers that may join the call. Each thread that joins does so before it takes pieces, so sleepers
  /// wake in a tree. The caller begins.
  void wake_some(uint64_t call) noexcept {
    const int64_t count = slots_of(call);
    for (int woken = 0; woken < kWakes && next_to_wake_.load(std::memory_order_relaxed) < count;) {
      const int slot = next_to_wake_.fetch_add(1, std::memory_order_relaxed);
      if (slot < count && wake(seats_[static_cast<size_t>(slot)])) ++woken;
    }
  }

  std::vector<Seat> seats_ = std::vector<Seat>(1);
  std::vector<std::thread> helpers_;
  // Written by the caller before it opens a call, and read by helpers after they have read the call.
  alignas(kApart) std::atomic<uint64_t> call_{0};
  PieceFunction function_ = nullptr;
  const void* work_ = nullptr;
  int core_ = -1;  // the caller's core when the work began
  // Written only while helpers sleep.
  alignas(kApart) std::atomic<int> sleepers_{0};
  std::atomic<int> next_to_wake_{kNobody};  // the next slot to wake
};

thread_local Team team;

}  // namespace

void set_thread_count(int threads) { team.resize(std::max(1, threads)); }

int thread_count() noexcept { return team.threads(); }

bool inside_piece() noexcept { return at_work; }

void run_pieces(int64_t pieces, PieceFunction function, const void* work) noexcept {
  if (pieces > 1 && !at_work && team.threads() > 1) {
    team.run(pieces, function, work);
    return;
  }
  for (int64_t piece = 0; piece < pieces; ++piece) function(work, piece, 0);
}

}  // namespace dptrain::kernels::cpu
