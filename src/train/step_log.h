#pragma once

// StepLog: what the steps since the last line took, and that line: in the log, in steps.csv and among the events. Owned
// by the trainer, on its thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "session/session.h"
#include "train/position.h"
#include "train/progress.h"
#include "train/run_directory.h"

namespace dptrain::train {

/// " - loss: 0.8123 - accuracy: 0.7011"
std::string values_text(const std::vector<std::pair<std::string, double>>& values);

class StepLog {
 public:
  StepLog(session::Session& session, RunDirectory& run, Progress& progress)
      : session_(session), run_(run), progress_(progress) {}

  void restart();  ///< an interval begins now
  /// Seconds of the trainer's thread: for its batch, and until the step was queued or collected.
  void add_queued(double waited, double seconds, double comm);
  void add_collected(double seconds) { interval_.step_seconds += seconds; }
  void add_sums(double loss, std::int64_t samples);

  /// Whether `train.log_every` asks for a line: at the same steps of each epoch, or of the run when an epoch is
  /// shorter.
  bool due(const Position& position) const;
  /// Writes it and restarts; nothing where no step was made. `learning_rate`: of the last step.
  void write(const Position& position, double learning_rate);

 private:
  std::int64_t batch_of(const Position& position) const;
  void warn_when_starved(const RunDirectory::StepRow& row);

  session::Session& session_;
  RunDirectory& run_;
  Progress& progress_;
  bool warned_starved_ = false, past_first_ = false;
  struct Interval {
    double started = 0, waited = 0, step_seconds = 0, comm = 0, loss = 0;
    std::int64_t samples = 0, steps = 0;
  } interval_;
};

}  // namespace dptrain::train
