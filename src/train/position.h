#pragma once

// The position of training, and its way into a checkpoint and back: position, sums, callbacks, optimizer state. Main
// thread. Schedules and periods in epochs or samples follow samples, those in steps follow updates: progress().

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  std::int64_t samples = 0;             ///< consumed of the current epoch
  std::int64_t step = 0;                ///< optimizer steps done
  std::int64_t earlier_steps = 0;       ///< updates of the optimizer before the run (fit --init-optimizer)
  double earlier_epochs = 0;            ///< earlier_steps in epochs of the run's first global batch
  runtime::StepSums sums;               ///< of the current epoch so far; loss includes penalty * samples
  double epoch_seconds = 0;             ///< training time of the current epoch so far
  double seconds = 0;                   ///< training and validation time of the whole epochs, resumed runs included
  std::optional<double> learning_rate;  ///< set by ReduceLROnPlateau
  experiment::Logs last_logs;           ///< of the last epoch that was logged
  double rate_factor = 1;               ///< of the learning rate, after going back (train.on_nonfinite: rollback)
  std::int64_t skipped_steps = 0, rollbacks = 0;  ///< of the run, by train.on_nonfinite
  /// The last validation between the ends of epochs: its step (0: none yet), and of this epoch's validations the last
  /// one's values and the seconds of all.
  std::int64_t validated_step = 0;
  experiment::Logs validated;
  double validation_seconds = 0;

  /// Updates of the optimizer: Keras's `iterations`.
  std::int64_t iterations() const { return earlier_steps + step; }
  /// Consumed samples of the run, in batches of the session's size.
  double batches(const session::Session& session) const;
  /// Progress at `number` updates of the run, close to `step`: each update between them counts as one batch.
  nn::Progress progress(const session::Session& session, std::int64_t number) const;
  /// The learning rate of the update after `number`.
  double rate(const session::Session& session, std::int64_t number) const;
};

using Callbacks = std::vector<std::unique_ptr<Callback>>;

formats::CheckpointState make_state(session::Session& session, const Position& position, const Callbacks& callbacks,
                                    const BestValues& best);

/// Hands slots to the replicas and state to the callbacks. Throws Error{kCheckpoint} when the state is of another
/// optimizer, or of another number of samples per epoch.
Position restore_state(const formats::CheckpointState& state, session::Session& session, const Callbacks& callbacks,
                       BestValues& best);

/// Hands the slots that a file holds of an optimizer to the replicas. Throws Error{kCheckpoint} where it lacks one.
void begin_with(const formats::OptimizerState& state, session::Session& session);

/// Replaces the trainable weights by their exponential moving averages.
void use_averages(session::Session& session, graph::Model& model);
/// The same from a checkpoint's arrays ("average/<weight>"); throws Error{kCheckpoint} when there are none.
void use_averages(const formats::CheckpointState& state, graph::Model& model);

}  // namespace dptrain::train
