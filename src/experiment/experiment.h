#pragma once

// Experiment: a config that has been read, checked and typed. Immutable after loading.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

struct Experiment {
  std::string file;  ///< as the user wrote it, or the checkpoint that contains the config
  ConfigFile config;
  graph::Graph graph;
  config::Mark weights_place;         ///< location of the path in `model.weights`, if the config has one
  std::vector<std::string> warnings;  ///< about the config, with their locations
};

/// Changes to a config from the command line, applied before it is read.
struct Overrides {
  std::vector<std::string> sets;                 ///< `--set a.b=value`, in order
  std::map<std::string, std::string> variables;  ///< `--var NAME=VALUE`
  bool callbacks = true;                         ///< false if nothing calls them: monitored values may be missing
  /// `--learning-rate`: replaces the optimizer's rate or, with a schedule, its highest rate.
  std::optional<double> learning_rate{};
};

/// Throws Error{kUsage} with every error of the file, sorted by line.
Experiment load_experiment(const std::string& path, const Overrides& overrides);
/// Loads the text of a checkpoint's config (`resolved_config`); `name` identifies it in messages.
Experiment load_experiment_text(const std::string& text, const std::string& name, const Overrides& overrides);
/// load_experiment(), with the warnings logged.
Experiment load_with_warnings(const std::string& path, const Overrides& overrides);

/// The complete config: each key with its value, blocks expanded, paths absolute. Loads to an equal experiment.
config::Node resolved(const Experiment& experiment, bool minimal = false);
config::Node json_schema();

/// Global batch size for a number of replicas, from the key that the config has.
std::int64_t global_batch(const TrainSection& train, int replicas);
/// The factor of `lr_scaling` for a global batch: 1, linear or square root of batch / reference.
double rate_factor(const TrainSection& train, std::int64_t global_batch);

}  // namespace dptrain::experiment
