#pragma once

// keras.metrics.TopKCategoricalAccuracy: the share of rows in which fewer than k values are larger than that at the
// first largest label. Labels may be class numbers, too.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct TopKCategoricalAccuracySpec {
  std::string name = "top_k_categorical_accuracy";
  std::int64_t k = 5;
};

}  // namespace dptrain::nn
