#pragma once

// Keeper: the weights at the run's current step, and the files that store them. Owned by the trainer, on its thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "formats/checkpoint/writer.h"
#include "formats/exporter.h"
#include "graph/model.h"
#include "train/run.h"
#include "train/run_directory.h"

namespace dptrain::train {

// Saver: writes a run's checkpoints while training continues, and measures the cost. Owned by the trainer, on its
// thread; a thread of the checkpoint module writes the files. In a process without the run's directory it writes and
// removes nothing.

class Saver {
 public:
  explicit Saver(const RunDirectory& run);

  /// Writes a snapshot as checkpoints/<name>, for each name. Calls `job` at once, for a Job without paths, and counts
  /// its time as part of the save.
  void submit(const std::vector<std::string>& names, const std::function<formats::WriteJob()>& job);
  /// Waits for all saves; whether the last save of that name succeeded.
  bool is_saved(const std::string& name);
  /// Waits for all saves; removes a checkpoint if its successor is_saved().
  void remove(const std::string& name, const std::string& successor);
  /// Writes model.h5, without private state. A returned error has already been logged.
  std::optional<Error> export_model(const formats::Exported& exported);
  /// Waits until everything is on disk; returns the error of the last save if it failed.
  std::optional<Error> drain();

  /// From hold_back() to catch_up() now_or_later() delays its actions: files that callbacks request at an epoch's end
  /// must contain the state of all callbacks after it.
  void hold_back() { holds_back_ = true; }
  void catch_up();
  void now_or_later(std::function<void()> action);

  std::int64_t saves() const { return saves_; }
  double stall() const { return stall_; }  ///< seconds that training waited for saves

 private:
  const RunDirectory& run_;
  std::mutex mutex_;
  std::set<std::string> failed_;  ///< paths whose last save failed; under mutex_, since the writer's thread changes it
  formats::CheckpointWriter writer_;  ///< declared after the members that its thread uses
  bool holds_back_ = false;
  std::vector<std::function<void()>> held_back_;
  std::int64_t saves_ = 0;
  double stall_ = 0;
};

class Keeper {
 public:
  /// Calls `not_finite` for weights that are not finite.
  Keeper(Run& run, std::function<void(const std::string& what)> not_finite);

  /// The weights after Run::position.step. All callers at that step share one, and so does the writer's thread.
  std::shared_ptr<const graph::Model> snapshot();
  /// Call it after each step of the devices.
  void forget_snapshot() { snapshot_.reset(); }
  /// Whether the weights may be kept, evaluated or shown: they are finite, and the run has not failed.
  bool may_keep();

  /// Writes last.h5 if may_keep().
  void save_last();
  bool last_is_old() const;  ///< whether to write last.h5 within a long epoch
  /// Writes checkpoints/<name> for a callback, if may_keep().
  void save(const std::string& name, bool weights_only, const std::string& note);
  void remove(const std::string& name, const std::string& successor);
  /// Copies weights that a callback has kept into the replicas.
  void push_weights(const std::vector<std::vector<float>>& weights);
  /// Writes model.h5, with the averages of use_ema unless a callback has restored weights.
  std::optional<Error> export_model();

  formats::Compiled compiled() const;
  formats::CheckpointState state();
  Saver& saver() { return saver_; }
  const Saver& saver() const { return saver_; }

 private:
  void submit(const std::string& name, bool private_state);

  Run& run_;
  std::function<void(const std::string&)> not_finite_;
  Saver saver_;
  std::shared_ptr<const graph::Model> snapshot_;  ///< null until requested
  bool snapshot_is_finite_ = true;
  bool restored_ = false;  ///< a callback has pushed weights
  double last_save_;
};

}  // namespace dptrain::train
