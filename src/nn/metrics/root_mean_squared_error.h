#pragma once

// keras.metrics.RootMeanSquaredError: the square root of the mean over all values of (prediction - label)^2.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct RootMeanSquaredErrorSpec {
  std::string name = "root_mean_squared_error";
};

}  // namespace dptrain::nn
