// Runs every thread of a block as a fiber of the calling OS thread. A thread that reaches a barrier yields to the next
// one that can run; the last releases the others. If none can run and not all are done, the barrier was divergent.
//
// The process runs one launch at a time and reuses one set of fibers, also for launches on other OS threads.
//
// Under ThreadSanitizer every fiber counts as a thread, and only barriers order them, so a missing barrier is a data
// race in every order of the fibers. A shuffle waits without ordering memory, as on a GPU. This file, with the copies
// of a shuffle, is not instrumented then. Creating a fiber clears 785 KB there, and acquire and release take time
// linear in the number of fibers.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/cuda/simt.h"
#include "kernels/cuda/simt_stack.h"

namespace dptrain::simt {

namespace {

std::mutex one_launch;  ///< __shared__ variables are static
std::uint64_t launches = 0;
constinit thread_local const char* running = nullptr;
constinit thread_local bool is_flat = false;
constinit thread_local unsigned char* dynamic = nullptr;

/// Barrier of a block or a warp.
struct Barrier {
  unsigned expected = 0, arrived = 0;
  CallSite where;    ///< call of the first thread
  char places[2]{};  ///< for ThreadSanitizer; two, since a thread may reach the next barrier before all have left this
  unsigned turn = 0;
};

struct Fiber : Thread {
  explicit Fiber(void (*entry)()) : stack(entry) {}
  Stack stack;
  uint3 index{};
  unsigned number = 0;
  Barrier* waiting_at = nullptr;
  bool done = false;
};

bool same(const CallSite& a, const CallSite& b) {
  return a.line() == b.line() && (a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name());
}

std::string text_of(const CallSite& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

/// Runs blocks one after another and keeps their fibers until the process ends. Guarded by one_launch.
class Runner {
 public:
  void run(const Shape& shape, const std::function<void()>& thread);
  void arrive_block(const CallSite& where) { arrive(block_, 0, threads_, where, true); }
  /// `orders`: accesses before the barrier happen before those after it.
  void arrive_warp(const CallSite& where, bool orders) {
    Barrier& warp = warp_barriers_[current_->number / warpSize];
    arrive(warp, current_->number / warpSize * warpSize, warp.expected, where, orders);
  }
  std::size_t fibers() const { return fibers_.size(); }
  [[noreturn]] void fiber_loop();

 private:
  void run_block(const Order& order);
  void arrive(Barrier& barrier, unsigned first, unsigned count, const CallSite& where, bool orders);
  // Not inlined: a fiber may change its OS thread between launches, so addresses of thread_locals must not be cached.
  [[gnu::noinline]] void run_thread(Fiber& fiber);
  [[gnu::noinline]] void resume_next(Stack& from);
  void make_ready(Fiber& fiber) { ready_[(head_ + waiting_++) % kMaxBlock] = &fiber; }
  [[noreturn]] void fail_divergent() const;

  const std::function<void()>* thread_ = nullptr;
  Stack own_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  Barrier block_;
  std::vector<Barrier> warp_barriers_;
  std::array<Fiber*, kMaxBlock> ready_{};  ///< a ring
  std::size_t head_ = 0, waiting_ = 0;
  Fiber* current_ = nullptr;
  unsigned threads_ = 0, done_ = 0;
  char start_ = 0, end_ = 0;  ///< addresses by which ThreadSanitizer orders a block's threads
};

/// Never destroyed, since static objects may still launch kernels.
Runner& runner() {
  static Runner& all = *new Runner;
  return all;
}

void fiber_entry() { runner().fiber_loop(); }

void Runner::fiber_loop() {
  current_->stack.arrived();
  for (;;) {
    Fiber& fiber = *current_;
    run_thread(fiber);
    resume_next(fiber.stack);
  }
}

void Runner::run_thread(Fiber& fiber) {
  simt::arrive(&start_);
  if (is_flat) self = nullptr;
  (*thread_)();
  simt::leave(&end_);
  fiber.done = true;
  ++done_;
}

/// Switches to the next fiber that can run, or to the OS thread's stack if there is none.
void Runner::resume_next(Stack& from) {
  if (waiting_ == 0) {
    from.switch_to(own_);
    return;
  }
  Fiber& next = *ready_[head_];
  head_ = (head_ + 1) % kMaxBlock;
  --waiting_;
  current_ = &next;
  self = &next;
  threadIdx = next.index;
  if (&next.stack != &from) from.switch_to(next.stack);
}

void Runner::arrive(Barrier& barrier, unsigned first, unsigned count, const CallSite& where, bool orders) {
  Fiber& fiber = *current_;
  if (barrier.arrived == 0) {
    barrier.where = where;
  } else if (!same(barrier.where, where)) {
    fail("divergent barrier: some threads wait at " + text_of(barrier.where) + ", others at " + text_of(where));
  }
  char* place = &barrier.places[barrier.turn & 1];
  if (orders) simt::leave(place);
  if (++barrier.arrived < barrier.expected) {
    fiber.waiting_at = &barrier;
    resume_next(fiber.stack);
    if (orders) simt::arrive(place);
    return;
  }
  if (orders) simt::arrive(place);
  barrier.arrived = 0;
  ++barrier.turn;
  for (unsigned t = first; t < first + count; ++t) {
    if (fibers_[t].get() == &fiber) continue;
    fibers_[t]->waiting_at = nullptr;
    make_ready(*fibers_[t]);
  }
}

void Runner::fail_divergent() const {
  unsigned waiting = 0;
  std::string where;
  for (unsigned t = 0; t < threads_; ++t) {
    if (fibers_[t]->done) continue;
    ++waiting;
    if (fibers_[t]->waiting_at != nullptr) where = text_of(fibers_[t]->waiting_at->where);
  }
  fail("divergent barrier: " + std::to_string(waiting) + " of " + std::to_string(threads_) + " threads wait at " +
       where + " for threads that have returned or wait elsewhere");
}

void Runner::run_block(const Order& order) {
  done_ = 0;
  for (unsigned i = 0; i < threads_; ++i) {
    Fiber& fiber = *fibers_[static_cast<unsigned>(order[i])];
    fiber.done = false;
    fiber.turn = 0;
    make_ready(fiber);
  }
  simt::leave(&start_);
  resume_next(own_);
  simt::arrive(&end_);
  if (done_ != threads_) fail_divergent();
}

void Runner::run(const Shape& shape, const std::function<void()>& thread) {
  const dim3& block = shape.block;
  threads_ = block.x * block.y * block.z;
  thread_ = &thread;
  own_.enter_from_thread();
  while (fibers_.size() < threads_) fibers_.push_back(std::make_unique<Fiber>(fiber_entry));
  head_ = waiting_ = 0;
  block_ = {};
  block_.expected = threads_;
  const unsigned warps = (threads_ + warpSize - 1) / warpSize;
  warps_.assign(warps, {});
  warp_barriers_.assign(warps, {});
  for (unsigned t = 0; t < threads_; ++t) {
    Fiber& fiber = *fibers_[t];
    fiber.index = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    fiber.number = t;
    fiber.lane = t % warpSize;
    fiber.warp = &warps_[t / warpSize];
    ++fiber.warp->lanes;
    ++warp_barriers_[t / warpSize].expected;
  }
  const std::uint64_t blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const Order order(blocks, 2 * launches), thread_order(threads_, 2 * launches + 1);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t b = order[i];
    blockIdx = {static_cast<unsigned>(b % shape.grid.x), static_cast<unsigned>(b / shape.grid.x % shape.grid.y),
                static_cast<unsigned>(b / shape.grid.x / shape.grid.y)};
    if (shape.shared > 0) std::memset(dynamic, 0xFF, shape.shared);
    run_block(thread_order);
  }
  self = nullptr;
}

/// Whether a launch runs as fibers. Flat launches need them only for ThreadSanitizer and are slow with them, so each
/// kernel and shape is checked once.
bool needs_fibers(const Shape& shape) {
  if (!shape.flat) return true;
  if (!kSeesRaces) return false;
  using Seen = std::tuple<const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned>;
  static std::set<Seen>& seen = *new std::set<Seen>;
  return seen
      .emplace(shape.kernel, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z)
      .second;
}

/// Threads without barriers: a plain loop.
void run_flat(const Shape& shape, const std::function<void()>& thread) {
  const dim3& grid = shape.grid;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const Order order(blocks, 2 * launches);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t b = order[i];
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / grid.x / grid.y)};
    for (unsigned z = 0; z < shape.block.z; ++z) {
      for (unsigned y = 0; y < shape.block.y; ++y) {
        for (unsigned x = 0; x < shape.block.x; ++x) {
          threadIdx = {x, y, z};
          thread();
        }
      }
    }
  }
}

void require_fiber() {
  if (self != nullptr) return;
  fail(is_flat ? "a thread of a flat launch reached a barrier or a shuffle; start it with DPTRAIN_LAUNCH"
               : "a barrier or a shuffle outside of a kernel");
}

}  // namespace

void run(const Shape& shape, const std::function<void()>& thread) {
  const std::lock_guard lock(one_launch);
  ++launches;
  running = shape.name;
  is_flat = shape.flat;
  gridDim = shape.grid;
  blockDim = shape.block;
  // Exact size, so that AddressSanitizer detects accesses past the end.
  constexpr std::align_val_t kAlignment{16};
  dynamic = shape.shared == 0 ? nullptr : static_cast<unsigned char*>(::operator new(shape.shared, kAlignment));
  if (needs_fibers(shape)) {
    runner().run(shape, thread);
  } else {
    run_flat(shape, thread);
  }
  ::operator delete(dynamic, kAlignment);
  dynamic = nullptr;
  running = nullptr;
  is_flat = false;
}

std::size_t count_fibers() {
  const std::lock_guard lock(one_launch);
  return runner().fibers();
}

void sync_block(const CallSite& where) {
  require_fiber();
  runner().arrive_block(where);
}

void sync_warp(const CallSite& where) {
  require_fiber();
  runner().arrive_warp(where, true);
}

void publish(const Slot& value, const CallSite& where) {
  require_fiber();
  self->warp->slots[++self->turn & 1][self->lane] = value;
  runner().arrive_warp(where, false);
}

Slot published(unsigned lane) { return self->warp->slots[self->turn & 1][lane]; }

void* dynamic_shared() { return dynamic; }

void fail(const std::string& message) {
  std::fprintf(stderr, "emulator: kernel %s: %s\n", running == nullptr ? "(none)" : running, message.c_str());
  std::abort();
}

}  // namespace dptrain::simt
