#pragma once

// Combines `loss`, `loss_weights` and `metrics` of the config with the model's outputs. Pure functions.

#include <string>
#include <vector>

#include "config/typed.h"
#include "experiment/sections.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace dptrain::experiment {

std::vector<std::string> output_names(const graph::Graph& graph);

/// An objective per output with a loss, in the graph's order. Labels and class weights belong to the data. A loss with
/// the key `ignore_class` gets that of the data sets.
std::vector<plan::Objective> objectives(const TrainSection& train, const graph::Graph& graph);

struct LoggedValue {
  std::string name;
  nn::Direction better = nn::Direction::kUnknown;
};

/// Logged values in order: "loss", losses per output if several, metrics; with `validates` again as "val_...".
std::vector<LoggedValue> logged_values(const TrainSection& train, const graph::Graph& graph, bool validates);

/// The direction of the value with this name; kUnknown if there is none.
nn::Direction direction_of(const std::vector<LoggedValue>& values, const std::string& name);

/// Reports outputs that the model does not have, and weights or metrics of an output without a loss.
void check_objectives(config::Reader& reader, const TrainSection& train, const graph::Graph& graph);

/// Sets TrainSection::ignore_class from the data sets. Reports numbers that differ between roles or from the key of a
/// loss, a number in a part of a data set, and a number for which no output has a loss of classes.
void resolve_ignored_class(config::Reader& reader, ConfigFile& file);

/// Warns of TimeDistributed(BatchNormalization) in a trained model: Keras 3 trains it differently.
void warn_of_step_moments(config::Diagnostics& diagnostics, const TrainSection& train, const graph::Graph& graph);

/// Reports at `place` an output or metric whose name makes a training value look like a validation value.
void check_value_names(config::Reader& reader, const config::Mark& place, const TrainSection& train,
                       const graph::Graph& graph);

}  // namespace dptrain::experiment
