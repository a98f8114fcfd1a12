#pragma once

#include "nn/schedule.h"

namespace dptrain::nn {

/// values[i] of the first i with s <= boundaries[i], then the last.
struct PiecewiseConstantDecaySpec {
  std::vector<config::Duration> boundaries;
  std::vector<double> values;
};

}  // namespace dptrain::nn
