#pragma once

#include <optional>

#include "data/encoders/missing.h"

namespace dptrain::data {

/// (x - mean) / max(sqrt(variance), 1e-7), as Keras's Normalization; what is not given is learned.
struct ColumnNormalizationSpec {
  std::optional<double> mean, variance;
  MissingNumberRule missing;
};

}  // namespace dptrain::data
