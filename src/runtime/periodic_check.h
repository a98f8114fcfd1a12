#pragma once

// PeriodicCheck: a thread that calls a function at regular intervals while another thread, the owner, is between
// begin() and end(), which block only while a call is running. Owned and used by one thread.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dptrain::runtime {

class PeriodicCheck {
 public:
  /// `check` is called every `period` seconds between begin() and end(), on a separate thread; it must not throw.
  PeriodicCheck(double period, std::function<void()> check);
  /// Joins the thread.
  ~PeriodicCheck();
  PeriodicCheck(const PeriodicCheck&) = delete;
  PeriodicCheck& operator=(const PeriodicCheck&) = delete;

  /// Both run `change` while `check` is not running; `change` may write what `check` reads.
  void begin(const std::function<void()>& change);
  void end(const std::function<void()>& change);

 private:
  void work(double period);

  const std::function<void()> check_;
  std::mutex mutex_;  // guards the members below; held during check_
  std::condition_variable wake_;
  bool on_ = false, stopping_ = false;
  std::thread thread_;  ///< last: it uses everything above
};

}  // namespace dptrain::runtime
