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

thread_local bool is_running_piece = false;

/// Moves a helper off the caller's core if another core is allowed. Next to another process's thread, the scheduler
/// tends to keep helper and caller on one core, so that they share half of two cores. After the move it is free again.
class CallerCoreAvoidance {
 public:
  void leave(int core) noexcept {
    if (core < 0 || sched_getcpu() != core) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kMinInterval) return;
    last_ = now;
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
  }

 private:
  static constexpr std::chrono::milliseconds kMinInterval{2};  // limits moves if there are more threads than cores
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
class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { end_helpers(); }

  int threads() const noexcept { return static_cast<int>(workers_.size()); }

  void resize(int threads) {
    if (threads == this->threads()) return;
    end_helpers();
    workers_ = std::vector<WorkerSlot>(static_cast<size_t>(threads));
    helpers_.reserve(static_cast<size_t>(threads - 1));
    for (int slot = 1; slot < threads; ++slot) helpers_.emplace_back([this, slot] { run_helper(slot); });
  }

  void run(int64_t pieces, PieceFunction function, const void* work) noexcept {
    function_ = function;
    work_ = work;
    core_ = sched_getcpu();
    const int64_t count = std::min({pieces, static_cast<int64_t>(workers_.size()), kMaxSlots});
    int64_t begin = 0;
    for (int64_t slot = 0; slot < count; ++slot) {
      WorkerSlot& worker = workers_[static_cast<size_t>(slot)];
      worker.next.store(begin, std::memory_order_relaxed);
      worker.end = begin = ((slot + 1) * pieces + count - 1) / count;  // the caller has the first piece
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
    for (int64_t slot = 1; slot < count; ++slot) wait_for(workers_[static_cast<size_t>(slot)]);
    if (wakes) next_to_wake_.store(kNone, std::memory_order_relaxed);
  }

 private:
  /// A call: its number, and in the lowest bits the number of slots that may join; 0: closed.
  static constexpr int kSlotBits = 16;
  static constexpr uint64_t kSlots = (uint64_t{1} << kSlotBits) - 1, kEnd = ~uint64_t{0};
  static constexpr int64_t kMaxSlots = kSlots - 1;  // no call is kEnd
  static int64_t slots_of(uint64_t call) noexcept { return static_cast<int64_t>(call & kSlots); }

  /// States of a helper. A caller that goes to sleep changes kRunning to kAwaited.
  static constexpr uint32_t kIdle = 0, kRunning = 1, kAwaited = 2;
  /// Maximum number of helpers that a thread wakes before it takes pieces: waking one takes a microsecond or two.
  static constexpr int kMaxWakes = 4;
  static constexpr int kNone = std::numeric_limits<int>::max();

  /// One per thread; the caller has the first.
  struct WorkerSlot {
    alignas(kCacheLinePairBytes) std::atomic<int64_t> next{0};  // the next piece of its range; all threads take pieces
    int64_t end = 0;
    alignas(kCacheLinePairBytes) std::atomic<uint32_t> work{kIdle};  // state of a helper, written twice per call
    std::atomic<uint32_t> asleep{0};                                 // 1: sleeping or about to sleep
  };
  static_assert(sizeof(WorkerSlot) == 2 * kCacheLinePairBytes, "`next` and `work` are in different cache lines");

  void end_helpers() noexcept {
    call_.store(kEnd);
    for (WorkerSlot& worker : workers_) wake(worker);
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
    call_.store(0);
  }

  /// Takes pieces until none is left, then closes the call.
  void take_pieces(int slot, uint64_t call) noexcept {
    is_running_piece = true;
    const auto count = static_cast<size_t>(slots_of(call));
    // Once the call is closed, all ranges are empty: other threads need not read them all.
    for (size_t i = 0; i < count && call_.load(std::memory_order_relaxed) == call; ++i) {
      WorkerSlot& worker = workers_[(static_cast<size_t>(slot) + i) % count];
      // Read before fetch_add, so that threads do not write to the cache lines of empty ranges.
      while (worker.next.load(std::memory_order_relaxed) < worker.end) {
        const int64_t piece = worker.next.fetch_add(1, std::memory_order_relaxed);
        if (piece < worker.end) function_(work_, piece, slot);
      }
    }
    is_running_piece = false;
    uint64_t open = call;
    if (call_.load() == open) call_.compare_exchange_strong(open, call & ~kSlots);
  }

  void run_helper(int slot) noexcept {
    WorkerSlot& worker = workers_[static_cast<size_t>(slot)];
    CallerCoreAvoidance avoidance;
    const auto called = [&] { return slot < slots_of(call_.load(std::memory_order_acquire)); };
    for (;;) {
      if (!called() && !spin_until(called)) {
        sleep(worker, slot);
        continue;
      }
      worker.work.store(kRunning);
      const uint64_t call = call_.load();
      if (call == kEnd) return;
      if (slot < slots_of(call)) {
        wake_some(call);
        avoidance.leave(core_);
        take_pieces(slot, call);
      }
      if (worker.work.exchange(kIdle) == kAwaited) worker.work.notify_one();
    }
  }

  /// Called by the caller after the call is closed: waits until the helper has left it.
  static void wait_for(WorkerSlot& worker) noexcept {
    const auto idle = [&] { return worker.work.load() == kIdle; };
    if (idle() || spin_until(idle)) return;
    for (;;) {
      uint32_t seen = kRunning;
      if (!worker.work.compare_exchange_strong(seen, kAwaited) && seen == kIdle) return;
      worker.work.wait(kAwaited);
    }
  }

  /// Either the caller that opens a call reads `asleep`, or the sleeper reads the new call.
  void sleep(WorkerSlot& worker, int slot) noexcept {
    sleepers_.fetch_add(1);
    worker.asleep.store(1);
    if (slot >= slots_of(call_.load())) worker.asleep.wait(1);
    worker.asleep.store(0);
    sleepers_.fetch_sub(1);
  }

  static bool wake(WorkerSlot& worker) noexcept {
    if (worker.asleep.load() == 0 || worker.asleep.exchange(0) == 0) return false;
    worker.asleep.notify_one();
    return true;
  }

  /// Wakes the next sleepers that may join the call. Each thread that joins does so before it takes pieces, so sleepers
  /// wake in a tree. The caller begins.
  void wake_some(uint64_t call) noexcept {
    const int64_t count = slots_of(call);
    for (int woken = 0; woken < kMaxWakes && next_to_wake_.load(std::memory_order_relaxed) < count;) {
      const int slot = next_to_wake_.fetch_add(1, std::memory_order_relaxed);
      if (slot < count && wake(workers_[static_cast<size_t>(slot)])) ++woken;
    }
  }

  std::vector<WorkerSlot> workers_ = std::vector<WorkerSlot>(1);
  std::vector<std::thread> helpers_;
  // Written by the caller before it opens a call, and read by helpers after they have read the call.
  alignas(kCacheLinePairBytes) std::atomic<uint64_t> call_{0};
  PieceFunction function_ = nullptr;
  const void* work_ = nullptr;
  int core_ = -1;  // the caller's core when the work began
  // Written only while helpers sleep.
  alignas(kCacheLinePairBytes) std::atomic<int> sleepers_{0};
  std::atomic<int> next_to_wake_{kNone};  // the next slot to wake
};

thread_local ThreadPool thread_pool;

}  // namespace

void set_thread_count(int threads) { thread_pool.resize(std::max(1, threads)); }

int thread_count() noexcept { return thread_pool.threads(); }

bool inside_piece() noexcept { return is_running_piece; }

void run_pieces(int64_t pieces, PieceFunction function, const void* work) noexcept {
  if (pieces > 1 && !is_running_piece && thread_pool.threads() > 1) {
    thread_pool.run(pieces, function, work);
    return;
  }
  for (int64_t piece = 0; piece < pieces; ++piece) function(work, piece, 0);
}

}  // namespace dptrain::kernels::cpu
