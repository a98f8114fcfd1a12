#pragma once

// The mean and the variance of a column of numbers, and what stands for those that are missing.

#include <cstdint>
#include <optional>
#include "data/encoders/encoder.h"
#include "data/encoders/missing.h"

namespace dptrain::data {

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

}  // namespace dptrain::data
