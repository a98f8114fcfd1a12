#pragma once

#include <cstdint>
#include <vector>

#include "data/images/image_resize.h"

namespace dptrain::data {

/// `num_ops` operations one after the other, each one of eleven, drawn anew for every sample, of a strength up to
/// `factor` (f for [0, f], or [lower, upper]).
struct RandAugmentSpec {
  std::vector<double> value_range{0, 255};
  std::int64_t num_ops = 2;
  std::vector<double> factor{0.5};
  Interpolation interpolation = Interpolation::kBilinear;
};

}  // namespace dptrain::data
