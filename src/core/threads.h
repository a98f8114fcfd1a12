#pragma once

// Building blocks for threads: a pool for tasks, a bounded queue, and an initialization that runs once.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace dptrain {

// TaskPool: a few threads for background work, such as compiling. They start with the first tasks and sleep between
// tasks. Any thread may call; a task must not wait for a later one.

class TaskPool {
 public:
  /// Uses at most `threads` threads, but at least one.
  explicit TaskPool(int threads);
  /// Waits for tasks that have begun. Drops the others: their futures throw std::future_error.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  /// Queues `task`; the future has its result or exception. Tasks begin in the order of the calls.
  template <class Task>
  auto send(Task task) -> std::future<decltype(task())> {
    auto packed = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    auto result = packed->get_future();
    push([packed = std::move(packed)] { (*packed)(); });
    return result;
  }

 private:
  using Work = std::function<void()>;

  void push(Work work);
  void serve(const std::stop_token& stop);

  const std::size_t max_threads_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any wake_;
  std::deque<Work> waiting_;
  std::size_t idle_ = 0;
  std::vector<std::jthread> threads_;
};

/// Bounded first-in first-out queue between threads. close() wakes all waiting threads: push() then drops its value and
/// returns false, pop() returns the remaining values and then nothing.
template <class T>
class Queue {
 public:
  explicit Queue(std::size_t capacity) : capacity_(capacity) {}

  bool push(T value) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    not_full_.notify_one();
    return value;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    not_full_.notify_all();
    not_empty_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<T> items_;
  const std::size_t capacity_;
  bool closed_ = false;
};

/// Runs something once for all threads, as std::call_once. If it throws, the caller gets the error and the next caller
/// tries again; std::call_once blocks the next caller forever under ThreadSanitizer. Any thread.
class Once {
 public:
  template <class F>
  void run(const F& f) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    f();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

}  // namespace dptrain
