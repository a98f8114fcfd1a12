#pragma once

// Keeper: the weights of the step that the run stands at, and the files that keep them. Owned by the trainer, on its
// thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/writer.h"
#include "core/error.h"
#include "export/exporter.h"
#include "graph/model.h"
#include "train/run.h"
#include "train/run_directory.h"

namespace dptrain::train {

// Saver: writes a run's checkpoints while training goes on, and keeps account of what that costs. Owned by the trainer,
// on its thread; the files are written by a thread of the checkpoint room. In a process without the run's directory it
// writes and removes nothing.

class Saver {
 public:
  explicit Saver(const RunDirectory& run);

  /// A snapshot under checkpoints/<name>. `job` without its paths; it is asked for at once, and the time that takes
  /// counts as part of the save.
  void submit(const std::vector<std::string>& names, const std::function<checkpoint::Job()>& job);
  /// Waits; whether the last save of that name went well.
  bool is_saved(const std::string& name);
  /// Waits; removes a checkpoint if its successor is_saved().
  void remove(const std::string& name, const std::string& successor);
  /// The file to hand on: no private state. What is returned has been warned of.
  std::optional<Error> export_model(const exporting::Exported& exported);
  /// Until everything is on disk; the error of the last save if it failed.
  std::optional<Error> drain();

  /// Between these two now_or_later() keeps its actions: what callbacks ask for at an epoch's end waits until all of
  /// them have seen it, for a file holds their state too.
  void hold_back() { holds_back_ = true; }
  void catch_up();
  void now_or_later(std::function<void()> action);

  std::int64_t saves() const { return saves_; }
  double stall() const { return stall_; }  ///< seconds that training stood still for them

 private:
  const RunDirectory& run_;
  std::mutex mutex_;
  std::set<std::string>
      failed_;                 ///< paths whose last save went wrong; under mutex_, for the writer's thread adds to it
  checkpoint::Writer writer_;  ///< after what its thread uses
  bool holds_back_ = false;
  std::vector<std::function<void()>> held_back_;
  std::int64_t saves_ = 0;
  double stall_ = 0;
};

class Keeper {
 public:
  /// `not_finite` hears of weights that are not.
  Keeper(Run& run, std::function<void(const std::string& what)> not_finite);

  /// The weights after Run::position.step. All who ask there share one, the writer's thread too.
  std::shared_ptr<const graph::Model> snapshot();
  /// The devices have made a step.
  void forget_snapshot() { snapshot_.reset(); }
  /// Whether the weights are fit to be kept, evaluated or shown.
  bool may_keep();

  /// last.h5, if the weights are finite.
  void save_last();
  bool last_is_old() const;  ///< last.h5 is to roll along while an epoch takes long
  /// checkpoints/<name>, for a callback.
  void save(const std::string& name, bool weights_only, const std::string& note);
  void remove(const std::string& name, const std::string& successor);
  /// What a callback has kept, into the replicas.
  void push_weights(const std::vector<std::vector<float>>& weights);
  /// model.h5: the averages where use_ema.
  std::optional<Error> export_model();

  exporting::Compiled compiled() const;
  checkpoint::State state();
  Saver& saver() { return saver_; }
  const Saver& saver() const { return saver_; }

 private:
  void submit(const std::string& name, bool private_state);

  Run& run_;
  std::function<void(const std::string&)> not_finite_;
  Saver saver_;
  std::shared_ptr<const graph::Model> snapshot_;  ///< null until somebody asks
  bool snapshot_is_finite_ = true;
  bool restored_ = false;  ///< a callback has pushed weights
  double last_save_;
};

}  // namespace dptrain::train
