#pragma once

// Signals as requests to a run. While training: SIGINT and SIGTERM ask to finish the step, save and exit (130, 143),
// and are answered at once; a second one prints that nothing was saved and ends the process (kStoppedUnsaved). Before
// and after, they end it as ever. SIGHUP asks to save and go on, SIGUSR1 asks for a status line; outside of training
// they wait, or come to nothing.
//
// One thread takes them all, and every other one has them blocked: handlers that run on the stack of a thread in the
// middle of a vector kernel have met libraries that do not bear it (oneDNN 2.6's sgemm for AVX-512).

#include <thread>

namespace dptrain::train {

constexpr int kStoppedUnsaved = 11;  ///< exit code

/// Made before any other thread is started, for they inherit what is blocked. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  static int stop_signal();   ///< SIGINT or SIGTERM when asked to stop, else 0
  static bool take_save();    ///< SIGHUP since the last call
  static bool take_status();  ///< SIGUSR1 since the last call

 private:
  void listen();

  std::thread listener_;
};

/// While one lives, SIGINT and SIGTERM are requests. The first prints `first`, a second one `second` before it ends the
/// process. Both are literals.
class Training {
 public:
  explicit Training(const char* first = "saving after this step; press Ctrl-C again to quit without saving",
                    const char* second = "stopped at once; nothing was saved since the last checkpoint");
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
};

}  // namespace dptrain::train
