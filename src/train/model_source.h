#pragma once

// CONFIG|CKPT: commands that take either look into the file. A checkpoint holds the config it was trained with. Main
// thread.

#include <optional>
#include <string>

#include "experiment/experiment.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/exporter.h"
#include "graph/model.h"

namespace dptrain::train {

struct ModelSource {
  experiment::Experiment experiment;
  std::string checkpoint;                         ///< where the weights are; "": a config alone
  std::optional<formats::CheckpointState> state;  ///< of a checkpoint that has one
  /// How a file is read that belongs to a config (`--weights`, `model.weights`); a checkpoint fits as it is.
  std::optional<graph::WeightsSpec> weights{};
  std::string learned{};      ///< data::Source::learn() as the file holds it
  ClassNames class_names{};   ///< as the file has them
  bool is_run_model = false;  ///< the file is the model.h5 of a run
  bool complete = false;      ///< the model must use every layer of the file (`--weights`)

  /// Fills the model; with `averages` the exponential moving averages instead. Throws Error{kCheckpoint}.
  void load_weights(graph::Model& model, bool averages) const;
  /// Adds what the state of a checkpoint says of loss, optimizer and slots; nothing where weights go to another config.
  void describe_training(formats::Exported& exported) const;
};

/// What a command can do with a file that holds weights and no config, and what it advises where it can do nothing.
struct SourceUse {
  std::string with_config;  ///< the command line after "dptrain", "{}" for the file
  bool own_model = false;   ///< the layers that the file describes are enough
};

/// `path` is a config, a checkpoint, or a run's folder (RunDirectory::weights_of). With a config `weights` may name a
/// file in place of its `model.weights`. A file with weights alone (model.h5, Keras's own) uses the config of its run.
/// Values that callbacks monitor are not checked. Throws Error{kUsage, kCheckpoint}.
ModelSource open_model_source(const std::string& path, const std::optional<std::string>& weights,
                              experiment::Overrides overrides, const SourceUse& use);

/// A file that the user names; for a run's folder its weights (RunDirectory::weights_of) or its last state,
/// checkpoints/last.h5. Throws Error{kCheckpoint} if there is none.
std::string weights_file(const std::string& path);
std::string last_state_file(const std::string& path);

/// Throws Error{kData} if the folder of a run does not exist, or if `file`, such as train.csv, is in runs below it
/// instead. The message names the newest run.
void require_run_with(const std::string& folder, const std::string& file);

/// The folder of the run that a checkpoint belongs to, or "".
std::string run_of(const std::string& checkpoint);

}  // namespace dptrain::train
