#pragma once

// Opens the CONFIG|CKPT argument of a command: a config, or a checkpoint that contains its config. Main thread.

#include <optional>
#include <string>

#include "experiment/experiment.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/exporter.h"
#include "graph/model.h"

namespace dptrain::train {

struct ModelSource {
  experiment::Experiment experiment;
  std::string checkpoint;                         ///< file with the weights; "": only a config
  std::optional<formats::CheckpointState> state;  ///< if the checkpoint has one
  /// How to read weights for a config (`--weights`, `model.weights`); a checkpoint fits without it.
  std::optional<graph::WeightsSpec> weights{};
  std::string fitted_state{};  ///< data::Source::fit() as stored in the file
  ClassNames class_names{};    ///< as stored in the file
  bool is_run_model = false;   ///< the file is the model.h5 of a run
  bool complete = false;       ///< the model must use every layer of the file (`--weights`)

  /// Loads the weights, or with `averages` their exponential moving averages. Throws Error{kCheckpoint}.
  void load_weights(graph::Model& model, bool averages) const;
  /// Adds loss, optimizer and slots from a checkpoint's state, unless the weights are used with another config.
  void describe_training(formats::Exported& exported) const;
};

/// Advice in errors for a file that has weights but no config.
struct SourceUse {
  std::string with_config;  ///< the command line after "dptrain", "{}" for the file
  bool own_model = false;   ///< the layers that the file describes suffice
};

/// `path` is a config, a checkpoint, or a run's folder (RunDirectory::weights_of). For a config, `weights` replaces its
/// `model.weights`. A file with only weights (model.h5, Keras) uses the config of its run. Does not check values that
/// callbacks monitor. Throws Error{kUsage, kCheckpoint}.
ModelSource open_model_source(const std::string& path, const std::optional<std::string>& weights,
                              experiment::Overrides overrides, const SourceUse& use);

/// Resolves a path of the user. For a run's folder: its weights (RunDirectory::weights_of), or its last state,
/// checkpoints/last.h5. Throws Error{kCheckpoint} if there is none.
std::string weights_file(const std::string& path);
std::string last_state_file(const std::string& path);

/// Throws Error{kData} if the folder does not exist or only runs below it have `file`; names the newest run.
void require_run_with(const std::string& folder, const std::string& file);

/// The folder of the run that a checkpoint belongs to, or "".
std::string run_of(const std::string& checkpoint);

}  // namespace dptrain::train
