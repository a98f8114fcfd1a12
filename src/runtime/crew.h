#pragma once

// Crew: threads for life that all run the same command and are waited for. The mailbox is one pointer under a mutex;
// between commands the threads stay awake for a moment and then sleep. Owned and called by one thread, which may be one
// of those that work.

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

class Crew {
 public:
  using Command = std::function<void(int lane)>;
  /// Called on the failing thread with the first exception of a command, while the others may still be running.
  using OnFailure = std::function<void(int lane, const std::exception_ptr&)>;

  /// Who runs lane 0: a thread of the crew, or the caller in run(), which saves waking one up and being woken.
  enum class First { kOwnThread, kCaller };

  Crew(int size, First first, OnFailure on_failure);
  /// Joins the threads.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Runs the command once on every thread and waits for all. Rethrows the first exception; `failed_lane` says whose.
  void run(const Command& command);
  /// The two halves of it, where no lane is the caller's, which does something else between them; else
  /// Error{kInternal}. The command lives until the end.
  void begin(const Command& command);
  void end();
  int failed_lane() const { return failed_lane_; }
  /// Per lane, whether it is still at the command. Any thread.
  std::vector<bool> busy() const;

  int size() const { return size_; }

 private:
  void work(int lane);
  /// Runs the current command on the calling thread, and notes how it ended.
  void run_lane(int lane);
  void stop();
  void start(const Command& command);

  const int size_;
  const First first_;
  const OnFailure on_failure_;
  mutable std::mutex mutex_;  // guards what follows; who waits awake reads the atomic ones without it
  std::condition_variable wake_, done_;
  const Command* command_ = nullptr;
  std::vector<bool> busy_;
  // The threads that wait awake look at the first two, the caller at the third, which each thread writes at its end:
  // apart, so that those who look do not hold up those who end (some processors fetch lines of the cache in pairs).
  alignas(kernels::cpu::kApart) std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> stopping_{false};
  alignas(kernels::cpu::kApart) std::atomic<int> running_{0};
  alignas(kernels::cpu::kApart) std::exception_ptr failure_;
  int failed_lane_ = -1;

  std::vector<std::thread> threads_;
};

}  // namespace dptrain::runtime
