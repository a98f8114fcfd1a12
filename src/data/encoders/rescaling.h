#pragma once

#include "data/encoders/missing.h"

namespace dptrain::data {

/// number scale + offset, as Keras's Rescaling.
struct ColumnRescalingSpec {
  double scale = 1, offset = 0;
  MissingNumberRule missing{};
};

}  // namespace dptrain::data
