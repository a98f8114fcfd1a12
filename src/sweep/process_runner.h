#pragma once

// ProcessRunner: each trial is a `dptrain fit` of its own, so that whatever becomes of one costs the others nothing.
// Its run's folder is that of the trial, its words go to NNN.log beside it. A child is asked to save and end when this
// process ends, however it ends. Main thread: the kernel's word for that belongs to the thread that starts children.

#include <string>
#include <vector>

#include "sweep/runner.h"

namespace dptrain::sweep {

struct ProcessOptions {
  std::string executable;                         ///< of dptrain
  std::string folder;                             ///< of the sweep, absolute
  std::vector<std::vector<std::string>> devices;  ///< flags of fit, one for each slot: {"--cpus", "1x2"}
  std::vector<std::string> sets{};                ///< more of `--set`, of all trials
};

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
