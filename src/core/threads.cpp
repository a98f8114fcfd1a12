#include "core/threads.h"

#include <algorithm>
#include <system_error>

namespace dptrain {

TaskPool::TaskPool(int threads) : max_threads_(static_cast<std::size_t>(std::max(threads, 1))) {}

TaskPool::~TaskPool() {
  std::deque<Work> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
  }
  for (std::jthread& thread : threads_) thread.request_stop();
}

void TaskPool::push(Work work) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= idle_ && threads_.size() < max_threads_) {
    try {
      threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;  // otherwise the existing threads run it
    }
  }
  waiting_.push_back(std::move(work));
  wake_.notify_one();
}

void TaskPool::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool has_work = wake_.wait(lock, stop, [&] { return !waiting_.empty(); });
    --idle_;
    if (!has_work) return;
    {
      const Work work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
    }  // destroys the task's captures without the lock
    lock.lock();
  }
}

}  // namespace dptrain
