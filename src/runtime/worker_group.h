#pragma once

// WorkerGroup: long-lived threads that all run the same command; the caller waits for all of them. Between commands the
// threads spin for a moment, then sleep. Owned and used by one thread, which can be one of the workers.
//
//   WorkerGroup workers(size, WorkerGroup::First::kCaller, abort_communication);
//   workers.run([&](int worker) { replicas[worker].step(); });

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/cpu/spin.h"

namespace dptrain::runtime {

class WorkerGroup {
 public:
  using Command = std::function<void(int worker)>;
  /// Called on the failing thread with the first exception of a command, while the others may still be running.
  using OnFailure = std::function<void(int worker, const std::exception_ptr&)>;

  /// The thread of worker 0: one of the group, or the caller in run(), which saves two context switches.
  enum class First { kOwnThread, kCaller };

  WorkerGroup(int size, First first, OnFailure on_failure);
  /// Joins the threads.
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  /// Runs the command once on every thread and waits for all. Rethrows the first exception; see failed_worker().
  void run(const Command& command);
  /// run() in two parts, so that the caller can work in between. Throws Error{kInternal} with First::kCaller. The
  /// command must outlive end().
  void begin(const Command& command);
  void end();
  int failed_worker() const { return failed_worker_; }
  /// Per worker, whether it is running the command. Any thread.
  std::vector<bool> busy() const;

  int size() const { return size_; }

 private:
  void work(int worker);
  /// Runs the current command on the calling thread and stores its outcome.
  void run_worker(int worker);
  void stop();
  void start(const Command& command);

  const int size_;
  const First first_;
  const OnFailure on_failure_;
  mutable std::mutex mutex_;  // guards the members below; spinning threads read the atomic ones without it
  std::condition_variable wake_, done_;
  const Command* command_ = nullptr;
  std::vector<bool> busy_;
  // Idle threads poll the first two, the caller polls the third, which each thread writes when it is done. On separate
  // cache lines, because polling would delay those writes. Some processors fetch lines in pairs.
  alignas(kernels::cpu::kCacheLinePairBytes) std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> stopping_{false};
  alignas(kernels::cpu::kCacheLinePairBytes) std::atomic<int> running_{0};
  alignas(kernels::cpu::kCacheLinePairBytes) std::exception_ptr failure_;
  int failed_worker_ = -1;

  std::vector<std::thread> threads_;
};

}  // namespace dptrain::runtime
