#pragma once

// Runner: trains trials, several at a time. run() starts trials on it until a sweep is done or stopped. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweep/trials.h"

namespace dptrain::sweep {

/// Environment variable of a trial: the file in which it stores its error as JSON lines, as `--log json` prints them.
inline constexpr const char* kErrorFile = "DPTRAIN_ERROR_FILE";

struct ProcessResult {
  enum class ExitKind { kDone, kFailed, kStopped };  ///< kStopped: on request; it can be resumed

  int slot = 0;
  ExitKind kind = ExitKind::kDone;
  Outcome outcome{};
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual int slots() const = 0;  ///< number of concurrent trials, at least 1
  /// Trains a trial in a free slot, counted from 0, up to `epochs` in all (none: as configured). Resumes earlier work.
  virtual void start(int slot, const Trial& trial, const std::optional<std::int64_t>& epochs) = 0;
  /// Trials that ended since the last call; waits briefly if there are none.
  virtual std::vector<ProcessResult> poll() = 0;
  /// Requests all running trials to save and end; poll() returns them. Call once.
  virtual void stop() = 0;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void save(const Sweep& sweep) = 0;  ///< called first when a trial begins or has ended
  virtual void ended(const Sweep& sweep, const Trial& trial) = 0;
  virtual void tick(const Sweep& sweep) = 0;  ///< called periodically
  virtual bool should_stop() = 0;
};

/// Runs until all trials are done; after a stop request, until the running ones have ended.
void run(Sweep& sweep, Runner& runner, Watcher& watcher);

struct ProcessOptions {
  std::string executable;                         ///< path of dptrain
  std::string folder;                             ///< absolute path of the sweep's folder
  std::vector<std::vector<std::string>> devices;  ///< flags of fit, one for each slot: {"--cpus", "1x2"}
  std::vector<std::string> sets{};                ///< additional `--set` for all trials
};

/// Runs each trial as a separate `dptrain fit`, so that a crash does not affect the others. Output goes to NNN.log next
/// to the folder of its run. A child receives SIGTERM to save and end when this process ends, however it ends. Use from
/// one thread: the kernel signals a child when the thread that started it ends.
class ProcessRunner final : public Runner {
 public:
  /// `plan` must outlive the runner.
  ProcessRunner(const Plan& plan, ProcessOptions options);
  /// Kills running trials.
  ~ProcessRunner() override;
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  int slots() const override { return static_cast<int>(children_.size()); }
  /// Does not restart a trial whose run has completed, as when the sweep was killed before it noticed.
  void start(int slot, const Trial& trial, const std::optional<std::int64_t>& epochs) override;
  std::vector<ProcessResult> poll() override;
  void stop() override;

 private:
  struct Child {
    int process = 0;  ///< 0: none
    std::string run, log, error_file;
    std::int64_t log_begin = 0;  ///< size of `log` when the process started
  };

  ProcessResult ended(int slot, int status) const;

  const Plan& plan_;
  const ProcessOptions options_;
  std::vector<Child> children_;  ///< by slot
  std::vector<ProcessResult> completed_;
  bool stopping_ = false;
};

/// The outcome stored in the train.csv and result.json of a trial's run.
Outcome outcome_of(const Plan& plan, const std::string& run);

/// The first line of the first error in a file of kErrorFile: "message", or "file:line:column: message". "" if there is
/// none.
std::string stored_error(const std::string& file);

/// Waits up to `seconds` until no process trains into the folder; false if one still does.
bool wait_until_free(const std::string& run, double seconds);

}  // namespace dptrain::sweep
