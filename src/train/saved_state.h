#pragma once

// Values of the JSON that a checkpoint keeps of a run. The file may be damaged, or made by somebody else.

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "experiment/experiment.h"
#include "experiment/logs.h"
#include "export/compiled.h"

namespace dptrain::train {

/// A count, 0 where there is none. Throws Error{kCheckpoint} for what no run reaches: sums and products of counts stay
/// counts.
std::int64_t saved_count(const nlohmann::json& state, const char* name);

/// A number that was perhaps not finite, which JSON writes as null: NaN.
double saved_number(const nlohmann::json& value);

/// The best value so far; none where it was not finite.
std::optional<double> saved_best(const nlohmann::json& state);

/// Values by name, in their order: [["loss", 0.5], ...].
nlohmann::json logs_json(const experiment::Logs& logs);
experiment::Logs saved_logs(const nlohmann::json& saved);

// What a file for other programs says of how its model was trained. Pure functions; any thread.

/// `train:` of a config, with the learning rate as it is at this moment.
exporting::Compiled compiled(const experiment::TrainSection& train, const graph::Graph& graph, double learning_rate);

struct HandedOn {
  exporting::Compiled compiled{};
  std::optional<exporting::OptimizerState> optimizer_state{};
};

/// The same of a checkpoint, and the optimizer's slots; nothing of a state that does not say the learning rate. Throws
/// Error{kCheckpoint} where the state cannot be read.
HandedOn handed_on(const checkpoint::State& state, const experiment::Experiment& experiment);

}  // namespace dptrain::train
