#pragma once

// Activity: a long operation, which an ActivityWatch shows to the user. Any thread may begin, advance and end one.
// Active ones form a stack; the newest is shown.
//
//   Activity activity("reading train.csv", file_bytes, Activity::Unit::kBytes);
//   activity.advance(block.size());

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

  /// Active while the object exists. `what`: "reading train.csv". `total`: 0 if unknown.
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

/// Passes the newest activity to `show` every `period` seconds once the oldest one has lasted `patience` seconds, then
/// null once when none is left. Uses its own thread, which blocks signals.
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
