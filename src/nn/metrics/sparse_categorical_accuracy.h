#pragma once

// keras.metrics.SparseCategoricalAccuracy: the share of rows whose first largest value is at the label.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct SparseCategoricalAccuracySpec {
  std::string name = "sparse_categorical_accuracy";
};

}  // namespace dptrain::nn
