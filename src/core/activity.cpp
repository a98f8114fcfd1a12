#include "core/activity.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace dptrain {
namespace {

/// Active ones, oldest first.
struct Stack {
  std::mutex mutex;
  std::vector<const Activity*> all;
};
Stack& stack() {
  static Stack instance;
  return instance;
}

}  // namespace

Activity::Activity(std::string what, std::int64_t total, Unit unit)
    : what_(std::move(what)), total_(total), unit_(unit), began_(now_seconds()) {
  const std::lock_guard lock(stack().mutex);
  stack().all.push_back(this);
}

Activity::~Activity() {
  const std::lock_guard lock(stack().mutex);
  std::erase(stack().all, this);
}

ActivityWatch::ActivityWatch(double patience, double period, Show show)
    : patience_(patience), period_(period), show_(std::move(show)) {
  // Only other threads handle signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ActivityWatch::~ActivityWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void ActivityWatch::work() {
  const auto seen = [this]() -> std::optional<ActivityState> {
    const std::lock_guard lock(stack().mutex);
    if (stack().all.empty()) return std::nullopt;
    const double now = now_seconds();
    if (now - stack().all.front()->began_ < patience_) return std::nullopt;
    const Activity& top = *stack().all.back();
    return ActivityState{top.what_, top.done_.load(std::memory_order_relaxed), top.total_, top.unit_, now - top.began_};
  };
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::duration<double>(period_), [this] { return ending_; })) {
    const std::optional<ActivityState> state = seen();
    if (state) show_(&*state);
    if (!state && shown) show_(nullptr);
    shown = state.has_value();
  }
  if (shown) show_(nullptr);
}

}  // namespace dptrain
