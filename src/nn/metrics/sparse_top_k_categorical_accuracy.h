#pragma once

// keras.metrics.SparseTopKCategoricalAccuracy: the share of rows in which fewer than k values are larger than that at
// the label.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct SparseTopKCategoricalAccuracySpec {
  std::string name = "sparse_top_k_categorical_accuracy";
  std::int64_t k = 5;
};

}  // namespace dptrain::nn
