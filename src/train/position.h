#pragma once

// The position of training, saved in and restored from checkpoints: position, sums, callbacks, optimizer state. Main
// thread. Schedules and periods in epochs or samples depend on samples, those in steps on updates: progress().

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "experiment/logs.h"
#include "formats/checkpoint/checkpoint.h"
#include "nn/schedule.h"
#include "runtime/replica.h"
#include "train/callback.h"

namespace dptrain::session {
class Session;
}

namespace dptrain::train {

struct Position {
  std::int64_t epoch = 0;               ///< whole epochs done
  std::int64_t samples = 0;             ///< samples of the current epoch
  std::int64_t step = 0;                ///< optimizer steps done
  std::int64_t earlier_steps = 0;       ///< optimizer updates before the run (fit --init-optimizer)
  double earlier_epochs = 0;            ///< earlier_steps in epochs of the run's first global batch
  runtime::StepSums sums;               ///< sums of the current epoch so far; loss includes penalty * samples
  double epoch_seconds = 0;             ///< training time of the current epoch so far
  double seconds = 0;                   ///< training and validation time of the whole epochs, including resumed runs
  std::optional<double> learning_rate;  ///< set by ReduceLROnPlateau
  experiment::Logs last_logs;           ///< of the last logged epoch
  double rate_factor = 1;               ///< of the learning rate, after rollbacks (train.on_nonfinite: rollback)
  std::int64_t skipped_steps = 0, rollbacks = 0;  ///< of the run, by train.on_nonfinite
  /// The last validation inside an epoch: its step (0: none yet). `validated` has the values of this epoch's last one,
  /// validation_seconds the time of all.
  std::int64_t validated_step = 0;
  experiment::Logs validated;
  double validation_seconds = 0;

  /// Optimizer updates: Keras's `iterations`.
  std::int64_t iterations() const { return earlier_steps + step; }
  /// Consumed samples of the run, in batches of the session's size.
  double batches(const session::Session& session) const;
  /// Progress at `number` updates of the run, close to `step`: each update between them counts as one batch.
  nn::Progress progress(const session::Session& session, std::int64_t number) const;
  double rate(const session::Session& session, std::int64_t number) const;
};

using Callbacks = std::vector<std::unique_ptr<Callback>>;

formats::CheckpointState make_state(session::Session& session, const Position& position, const Callbacks& callbacks,
                                    const BestValues& best);

/// Restores replicas and callbacks. Throws Error{kCheckpoint} for another optimizer or number of samples per epoch.
Position restore_state(const formats::CheckpointState& state, session::Session& session, const Callbacks& callbacks,
                       BestValues& best);

/// Copies the optimizer state of a file to the replicas. Throws Error{kCheckpoint} if a slot is missing.
void begin_with(const formats::OptimizerState& state, session::Session& session);

/// Replaces the trainable weights by their exponential moving averages.
void use_averages(session::Session& session, graph::Model& model);
/// Uses the arrays "average/<weight>" of a checkpoint; throws Error{kCheckpoint} if there are none.
void use_averages(const formats::CheckpointState& state, graph::Model& model);

}  // namespace dptrain::train
