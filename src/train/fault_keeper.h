#pragma once

// FaultKeeper: writes RUN/fault (train/fault.h) while the run is still there to be looked at. Owned by the trainer, on
// its thread; a replica's last words come from another one, when the trainer's stands still.

#include <exception>
#include <string>

#include "runtime/batch_queue.h"
#include "train/checkpoint_manager.h"
#include "train/run.h"

namespace dptrain::train {

/// The step that the devices have left out.
struct BadStep {
  const data::Batch& batch;
  double loss;
};

class FaultKeeper {
 public:
  FaultKeeper(Run& run, CheckpointManager& checkpoints, const runtime::BatchQueue& ahead)
      : run_(run), checkpoints_(checkpoints), ahead_(ahead) {}

  /// From the weights before the step; null where weights are not finite.
  void leave_fault(const std::string& what, const BadStep* step);
  /// After an error, from the last checkpoint.
  void leave_failure(const std::exception& error) noexcept;

 private:
  Run& run_;
  CheckpointManager& checkpoints_;
  const runtime::BatchQueue& ahead_;
};

}  // namespace dptrain::train
