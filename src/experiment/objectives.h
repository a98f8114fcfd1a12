#pragma once

// What is trained and measured at which output: `loss`, `loss_weights` and `metrics` of the config beside the model's
// outputs. Pure functions.

#include <string>
#include <vector>

#include "config/typed.h"
#include "experiment/sections.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace dptrain::experiment {

/// The outputs' names, in the graph's order.
std::vector<std::string> output_names(const graph::Graph& graph);

/// One for each output that has a loss, in the graph's order; none without a loss. Labels and class weights are the
/// data's business.
std::vector<plan::Objective> objectives(const TrainSection& train, const graph::Graph& graph);

/// A value that training logs.
struct LoggedValue {
  std::string name;
  nn::Direction better = nn::Direction::kUnknown;
};

/// The values that training logs, in that order: "loss", with several outputs the loss of each, the metrics; with
/// `validates` all of them again as "val_...".
std::vector<LoggedValue> logged_values(const TrainSection& train, const graph::Graph& graph, bool validates);

/// The direction of the value with this name; kUnknown if there is none.
nn::Direction direction_of(const std::vector<LoggedValue>& values, const std::string& name);

/// Reports outputs that the model does not have, and weights or metrics of an output without a loss.
void check_objectives(config::Reader& reader, const TrainSection& train, const graph::Graph& graph);

/// Warns of TimeDistributed(BatchNormalization) in a model that is trained: Keras 3 trains it in another way.
void warn_of_step_moments(config::Diagnostics& diagnostics, const TrainSection& train, const graph::Graph& graph);

/// Reports an output or metric whose name makes a value of training look like one of validation, at `place`.
void check_value_names(config::Reader& reader, const config::Mark& place, const TrainSection& train,
                       const graph::Graph& graph);

}  // namespace dptrain::experiment
