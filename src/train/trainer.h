#pragma once

// Trainer: the training loop of `fit`. Owns the position, the callbacks, the log of steps and the saver of checkpoints;
// borrows the session and the run directory. One thread, the main one.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/goal.h"
#include "experiment/nonfinite.h"
#include "replica/batch_queue.h"
#include "session/session.h"
#include "train/callback.h"
#include "train/epoch_log.h"
#include "train/position.h"
#include "train/progress.h"
#include "train/run_directory.h"
#include "train/saver.h"
#include "train/step_log.h"

namespace dptrain::train {

struct FitOptions {
  std::optional<std::int64_t> epochs, steps;  ///< --epochs, --steps: instead of the config's
  ProgressMode progress = ProgressMode::kAuto;
};

class Trainer final : private Host {
 public:
  Trainer(session::Session& session, RunDirectory& run, const FitOptions& options);
  ~Trainer() override;

  /// Everything from a checkpoint: the session's model must have its weights already. Throws Error{kCheckpoint}.
  void resume(const checkpoint::State& state);
  FitResult fit();

 private:
  // Host
  const std::string& run_directory() const override { return run_.path(); }
  bool has_validation() const override;
  double learning_rate() const override;
  bool has_schedule() const override;
  void set_learning_rate(double rate) override { position_.learning_rate = rate / position_.rate_factor; }
  void stop(const std::string& reason) override;
  void save(const std::string& name, bool weights_only, const std::string& note) override;
  bool is_saved(const std::string& name) override { return saver_.is_saved(name); }
  void remove_checkpoint(const std::string& name, const std::string& successor) override;
  const graph::Model& pulled_model() override { return *snapshot(); }
  void push_weights(const std::vector<std::vector<float>>& weights) override;
  std::int64_t steps_per_epoch() const override { return session_.steps_per_epoch(); }
  std::int64_t global_batch() const override { return session_.global_batch(); }

  bool finished() const;
  void compute_features();
  void train_step(data::Batch batch);
  bool must_stop_at(std::int64_t step);
  void collect_step();
  void catch_up();
  void after_step(const replica::StepSums& sums, const data::Batch& batch);
  void count(const data::Batch& batch);
  bool failed() const;
  struct BadStep {
    const data::Batch& batch;
    double loss;
  };
  void not_finite(const std::string& what, const BadStep* step);
  void leave_fault(const std::string& what, const BadStep* step);
  void leave_failure(const std::exception& error) noexcept;
  bool may_save();
  void roll_back();
  std::int64_t queued_steps() const;
  std::int64_t queued_samples() const;  ///< of this epoch
  bool end_epoch();
  void partial_epoch();
  void obey_signals();
  FitResult finish();

  void log_interval();
  std::string epochs_text() const;
  double rate_of(std::int64_t step) const;

  /// The weights after position_.step. All who ask there share one, the writer's thread too.
  std::shared_ptr<const graph::Model> snapshot();
  void save_last();
  void submit(const std::vector<std::string>& names, bool private_state);
  std::optional<Error> export_model();
  checkpoint::Compiled compiled() const;

  session::Session& session_;
  RunDirectory& run_;
  const experiment::Goal goal_;
  Position position_;          ///< of the steps whose sums have come; devices may be ahead of it
  replica::BatchQueue ahead_;  ///< the steps that are queued beyond it
  Callbacks callbacks_;
  Progress progress_;
  StepLog log_;
  Saver saver_;
  bool resumed_ = false;
  std::string stop_reason_;
  int signal_ = 0;
  std::shared_ptr<const graph::Model> snapshot_;  ///< null until somebody asks
  bool snapshot_is_finite_ = true;
  bool restored_ = false;  ///< a callback has pushed weights
  BestValues best_;
  experiment::NonfiniteAccount nonfinite_;
  bool rolls_back_ = false;  ///< as soon as the devices have caught up
  std::string diverged_;     ///< why
  double started_ = 0, last_save_ = 0;
  double features_seconds_ = 0;  ///< of the frozen prefix; they belong to the epoch that waited for them
};

}  // namespace dptrain::train
