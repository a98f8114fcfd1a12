#pragma once

// StepLog: measures steps and writes lines to the log and to the files of the run. Trainer's thread.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/run.h"

namespace dptrain::train {

/// Seconds that the trainer waited, and the elapsed seconds.
struct Waits {
  double for_data = 0, for_replicas = 0, elapsed = 0;
};
struct MachineUse {
  int workers = 0;         ///< loader threads
  bool on_cpus = true;     ///< replicas on CPU cores, which other programs slow down
  double load = 0;         ///< running threads of all programs: the load average of a minute
  double own_threads = 0;  ///< running threads of this run
  int cores = 1;
};
/// A warning about the trainer's waits and a remedy; "" if none took two seconds and a tenth of the time.
std::string waiting_text(const Waits& waits, const MachineUse& use);

/// " - loss: 0.8123 - accuracy: 0.7011"
std::string values_text(const std::vector<std::pair<std::string, double>>& values);

class StepLog {
 public:
  explicit StepLog(Run& run) : run_(run) {}

  void restart();  ///< begins an interval
  /// Seconds of the trainer's thread: waiting for the batch, and until the step was queued or collected.
  void add_queued(double waited, double seconds, double comm);
  void add_collected(double seconds) { interval_.step_seconds += seconds; }
  void add_sums(double loss, std::int64_t samples);

  /// Whether `train.log_every` requires a line: at the same steps of each epoch, never in an epoch with fewer steps.
  bool due() const;
  /// Writes the line and restarts; does nothing without a step.
  void write();
  std::int64_t batch() const;

 private:
  void warn_of_waiting();

  Run& run_;
  bool warned_of_waiting_ = false;
  std::optional<double> watched_from_;  ///< the end of the first interval, which includes the start-up
  Waits waits_;                         ///< since then
  struct Interval {
    double started = 0, waited = 0, step_seconds = 0, comm = 0, loss = 0;
    std::int64_t samples = 0, steps = 0;
  } interval_;
  double last_loss_ = 0;
};

}  // namespace dptrain::train
