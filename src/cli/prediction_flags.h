#pragma once

// `bench --predict 'KEY=VALUE,...'`: the cluster to predict for. Main thread.

#include <string>

#include "bench/prediction_report.h"

namespace dptrain::cli {

/// Throws Error{kUsage} for unknown or repeated keys, values without a unit, and keys that do not combine.
bench::PredictionRequest parse_prediction(const std::string& text);

}  // namespace dptrain::cli
