#include "distributed/event_counts.h"

#include <algorithm>
#include <thread>

#include "core/error.h"

namespace dptrain::distributed {
namespace {

/// About 20 microseconds on an idle machine: longer than the usual delay between replicas at a small bucket, shorter
/// than a scheduler's time slice.
constexpr int kSpins = 50;

}  // namespace

void EventCounts::signal(Counter& counter) {
  // Sequentially consistent on both sides: this thread finds the sleeper, or the sleeper reads the new count.
  const std::uint64_t now = counter.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);  // a thread in `sleeping_` that has tested its counter sleeps by now
    awaited = std::ranges::any_of(
        sleeping_, [&](const Sleeper* sleeper) { return sleeper->counter == &counter && sleeper->target <= now; });
  }
  if (awaited) changed_.notify_all();
}

void EventCounts::wait(const Counter& counter, std::uint64_t target) {
  for (int spin = 0; spin < kSpins; ++spin) {
    throw_if_aborted();
    if (is_reached(counter, target)) return;
    std::this_thread::yield();
  }
  const Sleeper self{&counter, target};
  std::unique_lock lock(mutex_);
  sleeping_.push_back(&self);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  changed_.wait(lock, [&] { return counter.load(std::memory_order_seq_cst) >= target || aborted_.load(); });
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  std::erase(sleeping_, &self);
  lock.unlock();
  throw_if_aborted();
}

void EventCounts::abort(const std::string& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_.load()) why_ = why;
    aborted_.store(true);
  }
  changed_.notify_all();
}

void EventCounts::throw_if_aborted() {
  if (!aborted_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  throw Error(ErrorKind::kDevice, "stopped, because of " + why_);
}

}  // namespace dptrain::distributed
