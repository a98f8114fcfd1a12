#include "kernels/cpu/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// A calling thread and its helpers. Each has a range of the pieces, which it takes in order, and then takes what is
/// left of the others': what a thread wrote in one kernel it tends to read in the next, out of its own core's caches.
/// `state_` says whether there is work to join and how many helpers have joined: the description of the work is written
/// while there are none, so a helper that has joined may read it.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { end_helpers(); }

  int threads() const noexcept { return static_cast<int>(ranges_.size()); }

  void resize(int threads) {
    if (threads == this->threads()) return;
    end_helpers();
    ranges_ = std::vector<Range>(static_cast<size_t>(threads));
    helpers_.reserve(static_cast<size_t>(threads - 1));
    for (int slot = 1; slot < threads; ++slot) helpers_.emplace_back([this, slot] { help(slot); });
  }

  void run(int64_t pieces, PieceFunction function, const void* work) noexcept {
    function_ = function;
    work_ = work;
    core_ = sched_getcpu();
    const auto count = static_cast<int64_t>(ranges_.size());
    int64_t begin = 0;
    for (int64_t slot = 0; slot < count; ++slot) {
      Range& range = ranges_[static_cast<size_t>(slot)];
      range.next.store(begin, std::memory_order_relaxed);
      range.end = begin = ((slot + 1) * pieces + count - 1) / count;  // the caller has the first piece
    }
    state_.store(kOpen);
    if (pieces > static_cast<int64_t>(helpers_.size()))
      state_.notify_all();
    else
      for (int64_t i = 1; i < pieces; ++i) state_.notify_one();
    take_pieces(0);
    if (!spin_until([&] { return state_.load(std::memory_order_acquire) == 0; })) sleep_until_done();
  }

 private:
  static constexpr uint32_t kOpen = 1U << 31, kEnd = 1U << 30;  // the other bits: helpers that have joined

  void end_helpers() noexcept {
    state_.store(kEnd);
    state_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
    state_.store(0);
  }

  /// Until no piece is left to take; nobody joins after that.
  void take_pieces(int slot) noexcept {
    at_work = true;
    const size_t count = ranges_.size();
    for (size_t i = 0; i < count; ++i) {
      Range& range = ranges_[(static_cast<size_t>(slot) + i) % count];
      // Looked at first: who finds nothing left, at the end of every kernel, should not write to the others' lines.
      while (range.next.load(std::memory_order_relaxed) < range.end) {
        const int64_t piece = range.next.fetch_add(1, std::memory_order_relaxed);
        if (piece < range.end) function_(work_, piece, slot);
      }
    }
    at_work = false;
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  }

  void help(int slot) noexcept {
    StepAside step_aside;
    const auto called = [this] { return (state_.load(std::memory_order_acquire) & (kOpen | kEnd)) != 0; };
    for (;;) {
      uint32_t state = state_.load(std::memory_order_acquire);
      if (state & kEnd) return;
      if (state & kOpen) {
        if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
        step_aside.from(core_);
        take_pieces(slot);
        if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
          ++done_;
          done_.notify_one();
        }
      } else if (!spin_until(called)) {
        state = state_.load(std::memory_order_acquire);
        if (!(state & (kOpen | kEnd))) state_.wait(state);
      }
    }
  }

  /// The last helper to leave counts `done_` up after that, so a count read before is overtaken.
  void sleep_until_done() noexcept {
    for (;;) {
      const uint32_t seen = done_.load();
      if (state_.load(std::memory_order_acquire) == 0) return;
      done_.wait(seen);
    }
  }

  static constexpr size_t kLine = 64;  // bytes of a cache line: what is written often lies alone

  /// Pieces of one thread that nobody has taken.
  struct alignas(kLine) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  alignas(kLine) std::atomic<uint32_t> state_{0};
  alignas(kLine) std::atomic<uint32_t> done_{0};
  PieceFunction function_ = nullptr;
  const void* work_ = nullptr;
  int core_ = -1;                                      // the caller's, when the work began
  std::vector<Range> ranges_ = std::vector<Range>(1);  // one per thread, the caller's first
  std::vector<std::thread> helpers_;
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
