#pragma once

#include <vector>

namespace dptrain::data {

/// x + delta * (high - low), clipped to value_range; delta uniform in [-factor, factor], or in [lower, upper].
struct RandomBrightnessSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};

}  // namespace dptrain::data
