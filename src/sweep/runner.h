#pragma once

// Runner: what trains trials, some side by side; and the loop that gives it trials until a sweep is done or stopped.
// Main thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

struct ProcessOptions {
  std::string executable;                         ///< of dptrain
  std::string folder;                             ///< of the sweep, absolute
  std::vector<std::vector<std::string>> devices;  ///< flags of fit, one for each slot: {"--cpus", "1x2"}
  std::vector<std::string> sets{};                ///< more of `--set`, of all trials
};

/// Each trial is a `dptrain fit` of its own, so that a crash of one does not affect the others. Its output goes to
/// NNN.log next to the folder of its run. A child is asked to save and end when this process ends, however it ends.
/// Used by one thread alone: the kernel signals the end of the thread that started a child.
class ProcessRunner final : public Runner {
 public:
  /// `plan` must live as long.
  ProcessRunner(const Plan& plan, ProcessOptions options);
  /// Ends what still runs at once.
  ~ProcessRunner() override;
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  int slots() const override { return static_cast<int>(children_.size()); }
  /// A trial that has come to its end unseen (the sweep was killed just then) is not started again.
  void start(int slot, const Trial& trial, const std::optional<std::int64_t>& epochs) override;
  std::vector<Ended> poll() override;
  void stop() override;

 private:
  struct Child {
    int process = 0;  ///< 0: none
    std::string run, log;
  };

  Ended ended(int slot, int status) const;

  const Plan& plan_;
  const ProcessOptions options_;
  std::vector<Child> children_;  ///< by slot
  std::vector<Ended> at_once_;
  bool stopping_ = false;
};

/// What the files of a trial's run say: of train.csv and result.json.
Outcome outcome_of(const Plan& plan, const std::string& run);

/// Waits until no process trains into the folder any more, for as long as `seconds`; false: one still does.
bool wait_until_free(const std::string& run, double seconds);

}  // namespace dptrain::sweep
