#pragma once

// CheckpointManager: snapshots the weights of the current step and writes checkpoints while training continues. Owned
// by the trainer, on its thread; the thread of formats::CheckpointWriter writes the files. In a process without the
// run's directory it writes and removes nothing.

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

namespace dptrain::train {

class CheckpointManager {
 public:
  /// Calls `not_finite` for weights that are not finite.
  CheckpointManager(Run& run, std::function<void(const std::string& what)> not_finite);

  /// The weights after Run::position.step. All callers at that step share one, and so does the writer's thread.
  std::shared_ptr<const graph::Model> snapshot();
  /// Call it after each step of the devices.
  void drop_snapshot() { snapshot_.reset(); }
  /// Whether the weights may be saved, evaluated or shown: they are finite, and the run has not failed.
  bool is_usable();

  /// Writes last.h5 if is_usable().
  void save_last();
  bool is_last_old() const;  ///< whether last.h5 is older than ten minutes
  /// Writes checkpoints/<name> for a callback, if is_usable().
  void save(const std::string& name, bool weights_only, const std::string& note);
  /// Waits for all saves; whether the last save of that name succeeded.
  bool is_saved(const std::string& name);
  /// Waits for all saves; removes a checkpoint if its successor is_saved().
  void remove(const std::string& name, const std::string& successor);
  /// Copies weights that a callback has saved into the replicas.
  void push_weights(const std::vector<std::vector<float>>& weights);
  /// Writes model.h5, with the averages of use_ema unless a callback restored weights. Logs and returns an error.
  std::optional<Error> export_model();
  /// Waits until everything is on disk; returns the error of the last save if it failed.
  std::optional<Error> drain();

  /// From defer() to run_deferred(), save() and remove() are delayed: files that callbacks request at an epoch's end
  /// must contain the state of all callbacks after it.
  void defer() { defers_ = true; }
  void run_deferred();

  formats::CompileConfig compiled() const;
  formats::CheckpointState state() const;

  std::int64_t saves() const { return saves_; }
  double stall_seconds() const { return stall_seconds_; }  ///< time that training waited for saves

 private:
  void submit(const std::string& name, bool private_state);
  void run_or_defer(std::function<void()> action);
  std::optional<Error> write_model(const formats::Exported& exported);

  Run& run_;
  std::function<void(const std::string&)> not_finite_;
  std::mutex mutex_;
  std::set<std::string> failed_;  ///< paths whose last save failed; under mutex_, since the writer's thread changes it
  formats::CheckpointWriter writer_;              ///< declared after the members that its thread uses
  std::shared_ptr<const graph::Model> snapshot_;  ///< null until requested
  bool snapshot_is_finite_ = true;
  bool restored_ = false;  ///< a callback has pushed weights
  double last_save_;
  bool defers_ = false;
  std::vector<std::function<void()>> deferred_;
  std::int64_t saves_ = 0;
  double stall_seconds_ = 0;
};

}  // namespace dptrain::train
