#pragma once

// Trainer: the training loop of `fit`. Owns the run's state, the parts that use it and the queue of steps; borrows the
// session and the run directory. Main thread only.

#include <cstdint>
#include <optional>
#include <string>

#include "experiment/goal.h"
#include "runtime/batch_queue.h"
#include "session/session.h"
#include "train/checkpoint_manager.h"
#include "train/control.h"
#include "train/epochs.h"
#include "train/fault_recorder.h"
#include "train/nonfinite_policy.h"
#include "train/run.h"
#include "train/step_log.h"
#include "train/step_trace.h"

namespace dptrain::train {

struct FitOptions {
  std::optional<std::int64_t> epochs, steps;  ///< --epochs, --steps: replace the config's
  ProgressMode progress = ProgressMode::kAuto;
  std::optional<StepRange> traced{};  ///< --trace
};

class Trainer {
 public:
  Trainer(session::Session& session, const RunDirectory& directory, const FitOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Restores everything but the session's weights, which must be loaded already. Throws Error{kCheckpoint}.
  void resume(const formats::CheckpointState& state);
  /// Continues the optimizer from `state`; everything else starts from scratch. Throws Error{kCheckpoint}.
  void begin_with(const formats::OptimizerState& state);
  FitResult fit();
  /// Valid after fit().
  const EndReport& ended() const { return ended_; }

 private:
  void begin();
  void compute_features();
  void train_epoch();
  void train_step(data::Batch batch);
  bool must_stop_at(std::int64_t step);
  void collect_step();
  void catch_up();
  void log_new_shares();
  void after_step(const runtime::StepSums& sums, const data::Batch& batch);
  void count(const data::Batch& batch);
  void not_finite(const std::string& what, const BadStep* step);
  void copy_counts();
  void roll_back();
  void handle_signals();
  std::uint32_t local_requests() const;
  std::uint32_t control_requests();
  bool finished() const;
  FitResult finish();
  EndReport end_report(const FitResult& result) const;

  std::int64_t queued_steps() const;
  std::int64_t queued_samples() const;  ///< in this epoch
  std::string epochs_text() const;
  double epochs_in_all() const;
  std::optional<double> seconds_left() const;

  session::Session& session_;
  const experiment::Goal goal_;
  Run run_;
  runtime::BatchQueue ahead_;  ///< the steps queued beyond Run::position
  CheckpointManager checkpoints_;
  StepLog log_;
  Control control_;
  Epochs epochs_;
  FaultRecorder faults_;
  NonFinitePolicy nonfinite_;
  StepTrace trace_;
  std::string diverged_;  ///< the reason
  EndReport ended_;
  bool resumed_ = false;
  int signal_ = 0;
  double started_ = 0;
};

}  // namespace dptrain::train
