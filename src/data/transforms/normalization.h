#pragma once

#include <cstdint>
#include <vector>

namespace dptrain::data {

/// (x - mean) / max(sqrt(variance), 1e-7), one value for all or one per channel.
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;
};

}  // namespace dptrain::data
