#pragma once

// Epochs: what happens around the steps: the begin and the end of an epoch, whole or not, and validation, at the ends
// of epochs or between them (train.validate_every). Owned by the trainer, on its thread; the devices stand where the
// run stands.

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
  /// `goes_on` is asked after each batch of a validation.
  Epochs(Run& run, CheckpointManager& checkpoints, StepLog& log, TrainingControl& control,
         std::function<bool()> goes_on)
      : run_(run), checkpoints_(checkpoints), log_(log), control_(control), goes_on_(std::move(goes_on)) {}

  /// `of`: "/12", what the run is to reach. Nothing in the middle of one, after a resume.
  void begin(const std::string& of);
  /// Whether validation comes after that step, by `validate_every: N steps`.
  bool validates_after(std::int64_t step) const;
  /// Validates if it is due at this step and has not been done: before the run stopped, or was killed.
  void validate_if_due();
  /// Validation, callbacks, checkpoints; the run then stands at the begin of the next one. False: weights are not
  /// finite, or validation was stopped and will be done again when the run is resumed from here.
  bool end();
  /// The row of a run that ends inside an epoch; the whole epoch's row replaces it after a resume.
  void end_early();
  /// Of the frozen prefix; they belong to the epoch that waited for them.
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
  std::function<bool()> goes_on_;
  double extra_seconds_ = 0;
};

}  // namespace dptrain::train
