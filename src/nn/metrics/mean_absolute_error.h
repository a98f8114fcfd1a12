#pragma once

// keras.metrics.MeanAbsoluteError: the mean over values of |prediction - label|.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct MeanAbsoluteErrorMetricSpec {
  std::string name = "mean_absolute_error";
};

}  // namespace dptrain::nn
