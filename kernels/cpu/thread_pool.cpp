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

/// Leaves the core that the caller of the work is on, if there is another to go to. Beside a stranger's thread the
/// system tends to leave helper and caller together on one core and the other to the stranger: nobody's share is unfair
/// then, but half of the machine is more than a stranger is due. After the move the system is free to do as it likes.
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
  static constexpr std::chrono::milliseconds kAtMostEvery{2};  // for where there are more threads than cores
  std::chrono::steady_clock::time_point last_{};
};

/// A calling thread and its helpers. Each of the first threads, as many as there are pieces, has a range of them, which
/// it takes in order, and then takes what is left of the others': what a thread wrote in one kernel it tends to read in
/// the next, out of its own core's caches. The other helpers are left alone.
///
/// `call_` says which of them may join, and is closed as soon as one thread finds no piece left. Between many cores a
/// line moves in some hundred nanoseconds and one after the other, so nobody counts who is there: a helper says so in a
/// place of its own, where the caller alone looks. It says so before it looks whether the call is open, and the caller
/// looks when it is closed, all sequentially consistent: either the helper finds it closed, and touches nothing, or the
/// caller waits for it. So the description of the work is written while nobody reads it.
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
    // Who counts as asleep only after this has not slept through the call: it looks once more before it sleeps.
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
  /// A call: its number, and in the lowest bits how many slots may join it, 0 when it is closed.
  static constexpr int kSlotBits = 16;
  static constexpr uint64_t kSlots = (uint64_t{1} << kSlotBits) - 1, kEnd = ~uint64_t{0};
  static constexpr int64_t kMostSlots = kSlots - 1;  // no call is kEnd
  static int64_t slots_of(uint64_t call) noexcept { return static_cast<int64_t>(call & kSlots); }

  /// What a helper says of itself. kAwaited is what the caller, which goes to sleep, makes of kAtWork.
  static constexpr uint32_t kAway = 0, kAtWork = 1, kAwaited = 2;
  /// Helpers that a thread wakes before it takes pieces: waking one takes a microsecond or two, so that who woke a
  /// hundred would do nothing else while the work waits.
  static constexpr int kWakes = 4;
  static constexpr int kNobody = std::numeric_limits<int>::max();

  /// A thread's, the caller's first.
  struct Seat {
    alignas(kApart) std::atomic<int64_t> next{0};  // of its pieces, those that nobody has taken; all threads take
    int64_t end = 0;
    alignas(kApart) std::atomic<uint32_t> work{kAway};  // of a helper, which writes it twice in a call
    std::atomic<uint32_t> asleep{0};                    // 1: it sleeps, or is about to
  };
  static_assert(sizeof(Seat) == 2 * kApart, "what all threads take from and what the helper says lie apart");

  void end_helpers() noexcept {
    call_.store(kEnd);
    for (Seat& seat : seats_) wake(seat);
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
    call_.store(0);
  }

  /// Until no piece is left to take; nobody joins after that.
  void take_pieces(int slot, uint64_t call) noexcept {
    at_work = true;
    const auto count = static_cast<size_t>(slots_of(call));
    // One thread has looked at all ranges when the call is closed: there is nothing to find, and the others need not
    // fetch them all.
    for (size_t i = 0; i < count && call_.load(std::memory_order_relaxed) == call; ++i) {
      Seat& seat = seats_[(static_cast<size_t>(slot) + i) % count];
      // Looked at first: who finds nothing left, at the end of every kernel, should not write to the others' lines.
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

  /// The caller's, of a call that is closed: until the helper has left it.
  static void wait_for(Seat& seat) noexcept {
    const auto away = [&] { return seat.work.load() == kAway; };
    if (away() || spin_until(away)) return;
    for (;;) {
      uint32_t seen = kAtWork;
      if (!seat.work.compare_exchange_strong(seen, kAwaited) && seen == kAway) return;
      seat.work.wait(kAwaited);
    }
  }

  /// Either who opens a call sees the sleeper or the sleeper sees the call.
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

  /// The next sleepers that the call is for. Whoever joins it takes part in this before it takes pieces, so the
  /// sleepers wake in a tree, and a branch whose thread comes late is no longer than that thread. The caller begins:
  /// helpers that join before it has are none that slept.
  void wake_some(uint64_t call) noexcept {
    const int64_t count = slots_of(call);
    for (int woken = 0; woken < kWakes && next_to_wake_.load(std::memory_order_relaxed) < count;) {
      const int slot = next_to_wake_.fetch_add(1, std::memory_order_relaxed);
      if (slot < count && wake(seats_[static_cast<size_t>(slot)])) ++woken;
    }
  }

  std::vector<Seat> seats_ = std::vector<Seat>(1);
  std::vector<std::thread> helpers_;
  // Written by the caller before it opens a call, and read by those who have just read the call.
  alignas(kApart) std::atomic<uint64_t> call_{0};
  PieceFunction function_ = nullptr;
  const void* work_ = nullptr;
  int core_ = -1;  // the caller's, when the work began
  // Written only where somebody sleeps.
  alignas(kApart) std::atomic<int> sleepers_{0};
  std::atomic<int> next_to_wake_{kNobody};  // the slot; tells who joins that there is somebody to wake
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
