#pragma once

// Crew: threads for life that all run the same command and are waited for. The mailbox is one pointer under a mutex;
// between commands the threads sleep. Owned and called by one thread.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dptrain::replica {

class Crew {
 public:
  using Command = std::function<void(int lane)>;
  /// Called on the failing thread with the first exception of a command, while the others may still be running.
  using OnFailure = std::function<void(int lane, const std::exception_ptr&)>;

  Crew(int size, OnFailure on_failure);
  /// Joins the threads.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Called again and again on the thread that waits for a command. `busy`: per lane, whether it is still at it. Throws
  /// nothing.
  using Look = std::function<void(const std::vector<bool>& busy)>;

  /// Runs the command once on every thread and waits for all. Rethrows the first exception; `failed_lane` says whose.
  void run(const Command& command);
  /// The two halves of it: between them the caller does something else. The command lives until the end.
  void begin(const Command& command);
  void end();
  /// The same, looking on every `period` seconds.
  void run(const Command& command, double period, const Look& look);
  int failed_lane() const { return failed_lane_; }

  int size() const { return static_cast<int>(threads_.size()); }

 private:
  void work(int lane);
  void stop();
  void start(const Command& command);
  void rethrow();

  const OnFailure on_failure_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, done_;
  const Command* command_ = nullptr;
  std::uint64_t generation_ = 0;
  int running_ = 0;
  std::vector<bool> busy_;
  bool stopping_ = false;
  std::exception_ptr failure_;
  int failed_lane_ = -1;

  std::vector<std::thread> threads_;
};

}  // namespace dptrain::replica
