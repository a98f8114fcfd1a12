#pragma once

// FaultRecorder: writes RUN/fault (train/fault.h) while the run's state still exists. Owned by the trainer, on its
// thread; a replica's final error is reported from another thread while the trainer's is blocked.

#include <exception>
#include <string>

#include "runtime/batch_queue.h"
#include "train/checkpoint_manager.h"
#include "train/run.h"

namespace dptrain::train {

/// The step that the devices have skipped.
struct BadStep {
  const data::Batch& batch;
  double loss;
};

class FaultRecorder {
 public:
  FaultRecorder(Run& run, CheckpointManager& checkpoints, const runtime::BatchQueue& ahead)
      : run_(run), checkpoints_(checkpoints), ahead_(ahead) {}

  /// Records a fault with the weights from before the step; `step` is null if weights are not finite.
  void record_fault(const std::string& what, const BadStep* step);
  /// Records an error with the last checkpoint.
  void record_failure(const std::exception& error) noexcept;

 private:
  Run& run_;
  CheckpointManager& checkpoints_;
  const runtime::BatchQueue& ahead_;
};

}  // namespace dptrain::train
