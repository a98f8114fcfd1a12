#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/encoders/encoder.h"

namespace dptrain::data {

// The mean and the variance of a column of numbers, and what stands for those that are missing.

/// The least deviation that numbers are divided by: backend.epsilon() of Keras.
constexpr double kKerasEpsilon = 1e-7;

/// Of what is there, in one pass where nobody knows it yet.
NumberSums sums_of(const TrainingColumn& column);
/// The same with `fill` in the place of each missing one.
NumberSums filled(const NumberSums& sums, double fill);

/// What stands for a missing number; none: such cells are refused. `sums`: of the column.
std::optional<double> fill_of(const MissingNumberRule& rule, const TrainingColumn& column, const NumberSums& sums);

/// The number, or what stands for a missing one. Throws Error{kData} where nothing does.
double present(double number, const std::optional<double>& fill);

/// (x - mean) / max(sqrt(variance), 1e-7), as Keras's Normalization; what is not given is learned.
struct ColumnNormalizationSpec {
  std::optional<double> mean, variance;
  MissingNumberRule missing;
};

/// number scale + offset, as Keras's Rescaling.
struct ColumnRescalingSpec {
  double scale = 1, offset = 0;
  MissingNumberRule missing{};
};

/// Which of some ranges a number is in, as Keras's Discretization: bin k begins with bin_boundaries[k - 1].
struct DiscretizationSpec {
  std::vector<double> bin_boundaries{};
  std::optional<std::int64_t> num_bins{};  ///< in place of boundaries: so many bins of like counts
  double epsilon = 0.01;                   ///< how exact their boundaries are, as a part of the rows
  MissingNumberRule missing{};
};

}  // namespace dptrain::data
