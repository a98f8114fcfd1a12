#pragma once

// Epochs: begin and end of epochs, and validation at their ends or between them (train.validate_every). Owned by the
// trainer, on its thread; the devices must be at the run's position.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/callback.h"
#include "train/checkpoint_manager.h"
#include "train/run.h"
#include "train/step_log.h"

namespace dptrain::train {

class Epochs {
 public:
  /// `should_continue` is called after each batch of a validation; false stops the validation.
  Epochs(Run& run, CheckpointManager& checkpoints, StepLog& log, TrainingControl& control,
         std::function<bool()> should_continue)
      : run_(run),
        checkpoints_(checkpoints),
        log_(log),
        control_(control),
        should_continue_(std::move(should_continue)) {}

  /// `of`: the run's goal, "/12". Does nothing inside an epoch, after a resume.
  void begin(const std::string& of);
  /// Whether `validate_every: N steps` requires validation after that step.
  bool validates_after(std::int64_t step) const;
  /// Validates if that is due at this step and was not done before the run stopped or was killed.
  void validate_if_due();
  /// Validates, runs callbacks, saves, begins the next epoch. False: non-finite weights, or a stopped validation, which
  /// a resume repeats.
  bool end();
  /// Writes the row of a run that ends inside an epoch; after a resume the whole epoch's row replaces it.
  void end_early();
  /// Adds the time of computing the frozen prefix to the current epoch.
  void add_seconds(double seconds) { extra_seconds_ += seconds; }

 private:
  bool validates_at_end() const;
  std::optional<experiment::Logs> validate();
  EpochReport report(bool whole);
  void log_line(const EpochReport& report, std::int64_t batches) const;
  void step_to_next();

  Run& run_;
  CheckpointManager& checkpoints_;
  StepLog& log_;
  TrainingControl& control_;
  std::function<bool()> should_continue_;
  double extra_seconds_ = 0;
};

}  // namespace dptrain::train
