#pragma once

// Keras's string "accuracy" or "acc": binary accuracy with the threshold 0.5 of an output whose last extent is 1, else
// the share of rows whose largest value is at the label.

#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct AccuracySpec {
  std::string name = "accuracy";
};

}  // namespace dptrain::nn
