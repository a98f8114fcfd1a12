#pragma once

// keras.metrics.RootMeanSquaredError: the square root of the mean over all values of (prediction - label)^2.

#include <string>

#include "optim/metric.h"

namespace dptrain::optim {

struct RootMeanSquaredErrorSpec {
  std::string name = "root_mean_squared_error";
};

}  // namespace dptrain::optim
