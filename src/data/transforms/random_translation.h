#pragma once

#include <vector>

#include "data/transforms/random_warp.h"

namespace dptrain::data {

/// By fractions of height and width; positive ones down and to the right.
struct RandomTranslationSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};

}  // namespace dptrain::data
