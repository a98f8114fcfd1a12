#pragma once

// What is to be known of a column of numbers before it is normalised. One pass over what is there, block by block.

#include <cstdint>
#include <optional>

#include "data/encoders/encoder.h"
#include "data/encoders/missing.h"

namespace dptrain::data {

/// The least deviation that numbers are divided by: backend.epsilon() of Keras.
constexpr double kKerasEpsilon = 1e-7;

struct NumberSums {
  std::int64_t present = 0, missing = 0;
  double mean = 0;
  double variance = 0;  ///< of the population, as Keras's Normalization: the mean of squared distances from the mean
};

/// Of the column; `fill`, where it is set, counts for the missing ones.
NumberSums sums_of(const TrainingColumn& column, const std::optional<double>& fill = std::nullopt);

/// What stands for a missing number; NaN: such cells are refused.
double fill_of(const MissingNumberRule& rule, const TrainingColumn& column);

}  // namespace dptrain::data
