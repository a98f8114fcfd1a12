#pragma once

// `bench --predict 'KEY=VALUE,...'`: the cluster that is asked about. Main thread.

#include <string>

#include "bench/prediction_report.h"

namespace dptrain::cli {

/// Throws Error{kUsage}: a key that is not known, or there twice; a value without its unit; keys that do not go
/// together.
bench::PredictionRequest parse_prediction(const std::string& text);

}  // namespace dptrain::cli
