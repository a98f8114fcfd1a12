#pragma once

// keras.metrics.MeanSquaredError: the mean over values of (prediction - label)^2.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct MeanSquaredErrorMetricSpec {
  std::string name = "mean_squared_error";
};

}  // namespace dptrain::nn
