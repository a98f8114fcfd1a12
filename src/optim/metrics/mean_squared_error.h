#pragma once

// keras.metrics.MeanSquaredError: the mean over values of (prediction - label)^2.

#include <string>

#include "optim/metric.h"

namespace dptrain::optim {

struct MeanSquaredErrorMetricSpec {
  std::string name = "mean_squared_error";
};

}  // namespace dptrain::optim
