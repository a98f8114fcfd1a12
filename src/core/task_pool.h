#pragma once

// TaskPool: a few threads for work that can be done beside what asked for it, such as compiling. They are started as
// tasks come and sleep between them. Any thread may call; a task must not wait for one that was sent after it.

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace dptrain {

class TaskPool {
 public:
  /// At most so many threads, one at least.
  explicit TaskPool(int threads);
  /// Waits for tasks that have begun; the others are forgotten, and who waits for one gets std::future_error.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  /// What `task` returns or throws. Tasks begin in the order in which they were sent.
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
  void serve();

  const std::size_t most_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Work> waiting_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dptrain
