#pragma once

// keras.metrics.BinaryAccuracy: the mean over values of (prediction > threshold) == (label == 1).

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct BinaryAccuracySpec {
  std::string name = "binary_accuracy";
  double threshold = 0.5;
};

}  // namespace dptrain::nn
