#pragma once

// Once: something that threads do once between them, as with std::call_once. Where it throws, the caller gets the error
// and the next one tries again; std::call_once leaves the next one waiting for ever under ThreadSanitizer. Any thread.

#include <atomic>
#include <mutex>

namespace dptrain {

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
