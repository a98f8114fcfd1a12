#pragma once

#include <vector>

#include "data/transforms/random_warp.h"

namespace dptrain::data {

/// Heights by 1 + f, f uniform in [-factor, factor] or [lower, upper]: positive ones zoom out. Widths by the same
/// number, or by one of their own.
struct RandomZoomSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};

}  // namespace dptrain::data
