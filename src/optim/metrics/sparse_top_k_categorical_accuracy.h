#pragma once

// keras.metrics.SparseTopKCategoricalAccuracy: the share of rows in which fewer than k values are larger than that at
// the label.

#include <string>

#include "optim/metric.h"

namespace dptrain::optim {

struct SparseTopKCategoricalAccuracySpec {
  std::string name = "sparse_top_k_categorical_accuracy";
  std::int64_t k = 5;
};

}  // namespace dptrain::optim
