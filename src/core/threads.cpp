#include "core/threads.h"

#include <algorithm>
#include <system_error>

namespace dptrain {

TaskPool::TaskPool(int threads) : most_(static_cast<std::size_t>(std::max(threads, 1))) {}

TaskPool::~TaskPool() {
  std::deque<Work> forgotten;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    forgotten.swap(waiting_);
  }
  wake_.notify_all();
  forgotten.clear();
  for (std::thread& thread : threads_) thread.join();
}

void TaskPool::push(Work work) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= idle_ && threads_.size() < most_) {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;  // else those that there are do it
    }
  }
  waiting_.push_back(std::move(work));
  wake_.notify_one();
}

void TaskPool::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    {
      const Work work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
    }  // what the task holds is gone before the lock is back
    lock.lock();
  }
}

}  // namespace dptrain
