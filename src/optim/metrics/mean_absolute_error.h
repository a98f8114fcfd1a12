#pragma once

// keras.metrics.MeanAbsoluteError: the mean over values of |prediction - label|.

#include <string>

#include "optim/metric.h"

namespace dptrain::optim {

struct MeanAbsoluteErrorMetricSpec {
  std::string name = "mean_absolute_error";
};

}  // namespace dptrain::optim
