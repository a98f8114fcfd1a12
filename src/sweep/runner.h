#pragma once

// Runner: what trains trials, some side by side; and the loop that gives it trials until a sweep is done or stopped.
// Main thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sweep/trials.h"

namespace dptrain::sweep {

/// How a trial that was started has ended.
struct Ended {
  enum class How { kDone, kFailed, kStopped };  ///< kStopped: on request, to be gone on with

  int slot = 0;
  How how = How::kDone;
  Outcome outcome{};
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual int slots() const = 0;  ///< trials side by side, at least 1
  /// In a free slot, counted from 0, to `epochs` in all, or as the config says; from where the trial stood.
  virtual void start(int slot, const Trial& trial, const std::optional<std::int64_t>& epochs) = 0;
  /// Those that have ended since the last call; waits a moment where none has.
  virtual std::vector<Ended> poll() = 0;
  /// Asks all that run to save and end: poll() gives them. Once.
  virtual void stop() = 0;
};

/// Who looks on.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void keep(const Sweep& sweep) = 0;  ///< a trial begins or has ended: before anything else happens
  virtual void ended(const Sweep& sweep, const Trial& trial) = 0;
  virtual void tick(const Sweep& sweep) = 0;  ///< now and then
  virtual bool wants_stop() = 0;
};

/// Until all trials are done, or those that ran have ended after a wish to stop.
void run(Sweep& sweep, Runner& runner, Watcher& watcher);

}  // namespace dptrain::sweep
