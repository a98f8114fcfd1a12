#pragma once

#include <vector>

#include "data/transforms/random_warp.h"

namespace dptrain::data {

/// By a fraction of a full turn, uniform in [-factor, factor] or [lower, upper]; positive ones as Keras turns.
struct RandomRotationSpec : WarpArguments {
  std::vector<double> factor;
};

}  // namespace dptrain::data
