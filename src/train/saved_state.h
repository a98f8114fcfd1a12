#pragma once

// Values of the JSON that a checkpoint keeps of a run. The file may be damaged, or made by somebody else.

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "experiment/logs.h"

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

}  // namespace dptrain::train
