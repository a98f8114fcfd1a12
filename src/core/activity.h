#pragma once

// Activity: what takes a while, said where it is done and shown by whoever watches. Any thread may begin one, advance
// it and end it; those that overlap lie on a stack, and the one on top is seen.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dptrain {

class Activity {
 public:
  enum class Unit : std::uint8_t { kItems, kBytes };

  /// Lasts as long as the object. `what`: "reading train.csv". `total` 0: nobody knows how much it is.
  explicit Activity(std::string what, std::int64_t total = 0, Unit unit = Unit::kItems);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  void advance(std::int64_t by = 1) noexcept { done_.fetch_add(by, std::memory_order_relaxed); }

 private:
  friend class ActivityWatch;

  const std::string what_;
  const std::int64_t total_;
  const Unit unit_;
  const double began_;
  std::atomic<std::int64_t> done_{0};
};

/// An activity at one moment.
struct ActivityState {
  std::string what;
  std::int64_t done = 0, total = 0;
  Activity::Unit unit = Activity::Unit::kItems;
  double seconds = 0;
};

/// A thread that tells, every `period` seconds, of the activity that is seen, once the one at the bottom has gone on
/// for `patience` seconds; and with null once when there is none any more. Ends with the object, behind a last null
/// where one is due. The thread takes no signals.
class ActivityWatch {
 public:
  using Show = std::function<void(const ActivityState*)>;
  ActivityWatch(double patience, double period, Show show);
  ~ActivityWatch();
  ActivityWatch(const ActivityWatch&) = delete;
  ActivityWatch& operator=(const ActivityWatch&) = delete;

 private:
  void work();

  const double patience_, period_;
  const Show show_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace dptrain
