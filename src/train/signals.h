#pragma once

// Signals as requests: SIGINT and SIGTERM ask to finish the step, save and exit (130, 143), a second one exits at once;
// SIGHUP asks to save and go on; SIGUSR1 asks for a status line. Installed once per process, read by the trainer.

namespace dptrain::train {

class Signals {
 public:
  Signals();   ///< installs the handlers
  ~Signals();  ///< puts the old ones back
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  static int stop_signal();     ///< SIGINT or SIGTERM when asked to stop, else 0
  static bool take_save();      ///< SIGHUP since the last call
  static bool take_status();    ///< SIGUSR1 since the last call
};

}  // namespace dptrain::train
