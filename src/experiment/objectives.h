#pragma once

// What is trained and measured at which output: `loss`, `loss_weights` and `metrics` of the config beside the model's
// outputs. Pure functions.

#include <string>
#include <vector>

#include "config/reader.h"
#include "experiment/sections.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace dptrain::experiment {

/// The outputs' names, in the graph's order.
std::vector<std::string> output_names(const graph::Graph& graph);

/// One for each output that has a loss, in the graph's order; none without a loss. Labels and class weights are the
/// data's business.
std::vector<plan::Objective> objectives(const TrainSection& train, const graph::Graph& graph);

/// Names of what training logs, in that order: "loss"; of several outputs each one's loss; and the metrics.
std::vector<std::string> value_names(const TrainSection& train, const graph::Graph& graph);

/// Reports names of outputs that the model does not have, and what is said of an output without a loss.
void check_objectives(config::Reader& reader, const TrainSection& train, const graph::Graph& graph);

}  // namespace dptrain::experiment
