#pragma once

// keras.metrics.Precision: true positives / (true positives + false positives), at each threshold. With top_k only the
// k largest values of a row can be positive, the first of equals first; with class_id one class alone is counted.
// Labels may be class numbers, which stand for rows with a one.

#include <string>

#include "nn/metrics/threshold_counts.h"

namespace dptrain::nn {

struct PrecisionSpec : CountedAbove {
  std::string name = "precision";
};

}  // namespace dptrain::nn
