#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/encoders/encoder.h"

namespace dptrain::data {

/// Lower bound of a deviation before the division: backend.epsilon() of Keras.
constexpr double kKerasEpsilon = 1e-7;

/// (x - mean) / max(sqrt(variance), 1e-7), as in Keras's Normalization. A mean or variance that is not given is fitted.
struct ColumnNormalizationSpec {
  std::optional<double> mean, variance;
  MissingNumberRule missing;
};

/// number * scale + offset, as in Keras's Rescaling.
struct ColumnRescalingSpec {
  double scale = 1, offset = 0;
  MissingNumberRule missing{};
};

/// Bin of a number, as in Keras's Discretization: bin k begins with bin_boundaries[k - 1].
struct DiscretizationSpec {
  std::vector<double> bin_boundaries{};
  std::optional<std::int64_t> num_bins{};  ///< instead of boundaries: number of bins of similar counts
  double epsilon = 0.01;                   ///< error of the fitted boundaries, as a fraction of the rows
  MissingNumberRule missing{};
};

/// A date or time: the time since 1970, normalized over the training rows, then sine and cosine of the phase in the
/// year and in the week. If the training rows have times, also of the phase in the day.
struct DateSpec {};

}  // namespace dptrain::data
