#pragma once

// Signals as requests to a run. While training, SIGINT and SIGTERM request to finish the step, save and exit (130,
// 143); a second one ends the process without saving (kStoppedUnsaved). Before and after training they end the process.
// SIGHUP requests a checkpoint, SIGUSR1 a status line; outside of training they stay pending or have no effect.
//
// One thread receives all signals; all other threads block them. A handler on the stack of a thread inside a vector
// kernel breaks some libraries (oneDNN 2.6's sgemm for AVX-512).

#include <thread>

namespace dptrain::train {

constexpr int kStoppedUnsaved = 11;  ///< exit code

/// Create it before any other thread, because threads inherit the signal mask. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  static int stop_signal();              ///< SIGINT or SIGTERM if a stop was requested, else 0
  static bool consume_save_request();    ///< SIGHUP since the last call
  static bool consume_status_request();  ///< SIGUSR1 since the last call

 private:
  void listen();

  std::thread listener_;
};

/// While it exists, SIGINT and SIGTERM are requests. The first prints `first`; a second prints `second` and ends the
/// process. Both are literals without quotes or backslashes, for --log json.
class Training {
 public:
  explicit Training(const char* first = "saving after this step; press Ctrl-C again to quit without saving",
                    const char* second = "stopped at once; nothing was saved since the last checkpoint");
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
};

}  // namespace dptrain::train
