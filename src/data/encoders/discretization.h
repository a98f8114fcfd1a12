#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/encoders/missing.h"

namespace dptrain::data {

/// Which of some ranges a number is in, as Keras's Discretization: bin k begins with bin_boundaries[k - 1].
struct DiscretizationSpec {
  std::vector<double> bin_boundaries{};
  std::optional<std::int64_t> num_bins{};  ///< in place of boundaries: so many bins of like counts
  double epsilon = 0.01;                   ///< how exact their boundaries are, as a part of the rows
  MissingNumberRule missing{};
};

}  // namespace dptrain::data
