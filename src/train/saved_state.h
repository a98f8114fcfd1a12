#pragma once

// Values in the JSON state of a checkpoint, which is untrusted and may be damaged.

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "experiment/experiment.h"
#include "experiment/logs.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/compile_config.h"

namespace dptrain::train {

/// A count, 0 if absent. Throws Error{kCheckpoint} for absurd values, so that arithmetic on counts does not overflow.
std::int64_t saved_count(const nlohmann::json& state, const char* name);

/// A number; NaN for null, which JSON uses for numbers that are not finite.
double saved_number(const nlohmann::json& value);

/// The best value so far; none if it was not finite.
std::optional<double> saved_best(const nlohmann::json& state);

/// Values by name, in order: [["loss", 0.5], ...].
nlohmann::json logs_json(const experiment::Logs& logs);
experiment::Logs saved_logs(const nlohmann::json& saved);

// The training configuration for files of other programs. Pure functions; any thread.

/// `train:` of a config, with the current learning rate.
formats::CompileConfig compiled(const experiment::TrainSection& train, const graph::Graph& graph, double learning_rate);

struct ExportState {
  formats::CompileConfig compiled{};
  std::optional<formats::OptimizerState> optimizer_state{};
};

/// Configuration and slots of a checkpoint; empty without a learning rate. Throws Error{kCheckpoint} if unreadable.
ExportState export_state(const formats::CheckpointState& state, const experiment::Experiment& experiment);

}  // namespace dptrain::train
