#pragma once

// Lookout: a thread that looks at what another one does, again and again, for as long as it is at it. The other thread
// is held up by nothing but a mutex that nobody else wants. Owned and called by the thread that is looked at.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dptrain::runtime {

class Lookout {
 public:
  /// `look` is called every `period` seconds between begin() and end(), on the lookout's thread; throws nothing.
  Lookout(double period, std::function<void()> look);
  /// Joins the thread.
  ~Lookout();
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  /// Both run `change` while nobody looks: what `look` reads is written there.
  void begin(const std::function<void()>& change);
  void end(const std::function<void()>& change);

 private:
  void work(double period);

  const std::function<void()> look_;
  std::mutex mutex_;  // guards what follows, and is held in look_
  std::condition_variable wake_;
  bool on_ = false, stopping_ = false;
  std::thread thread_;  ///< last: it uses everything above
};

}  // namespace dptrain::runtime
