#pragma once

// ExitGuard: a bound on how long a process that has failed may take to end. Work on a GPU that never ends (a collective
// that hangs even after it was aborted) cannot be waited for, and no thread that waits for it can be joined. Any
// thread.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dptrain::replica {

class ExitGuard {
 public:
  ~ExitGuard();

  /// If the guard still lives `seconds` later, `why` is logged and the process ends with ErrorKind::kDeadline's exit
  /// code, with everything that was written flushed. Later calls change nothing.
  void arm(double seconds, const std::string& why);

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace dptrain::replica
