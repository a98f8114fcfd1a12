#pragma once

// Keeper: the weights of the step that the run stands at, and the files that keep them. Owned by the trainer, on its
// thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "graph/model.h"
#include "train/run.h"
#include "train/saver.h"

namespace dptrain::train {

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
