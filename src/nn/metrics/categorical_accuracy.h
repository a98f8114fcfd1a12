#pragma once

// keras.metrics.CategoricalAccuracy: the share of rows whose first largest value is at the first largest label. Labels
// may be class numbers, too.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct CategoricalAccuracySpec {
  std::string name = "categorical_accuracy";
};

}  // namespace dptrain::nn
