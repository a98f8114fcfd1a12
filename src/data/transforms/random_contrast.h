#pragma once

#include <vector>

namespace dptrain::data {

/// (x - mean) * c + mean by channel, clipped to value_range; c uniform in [1 - factor, 1 + factor], or in
/// [1 - lower, 1 + upper].
struct RandomContrastSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};

}  // namespace dptrain::data
