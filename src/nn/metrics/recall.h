#pragma once

// keras.metrics.Recall: true positives / (true positives + false negatives), at each threshold. With top_k only the k
// largest values of a row can be positive, the first of equals first; with class_id one class alone is counted. Labels
// may be class numbers, which stand for rows with a one.

#include <string>

#include "nn/metrics/threshold_counts.h"

namespace dptrain::nn {

struct RecallSpec : CountedAbove {
  std::string name = "recall";
};

}  // namespace dptrain::nn
