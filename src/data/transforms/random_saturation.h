#pragma once

#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// The saturation times f / (1 - f), f uniform in [0, factor] or [lower, upper]: 0 gray, 0.5 as it is, 1 full.
struct RandomSaturationSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// What the saturation is multiplied by for a drawn factor.
float saturation_scale(float factor);
/// Of an RGB image of floats, in place. A saturation ends at 1, the purest colour; Keras lets it grow to the upper end
/// of value_range, which is the same for [0, 1] and makes negative values of [0, 255].
void scale_saturation(Array& image, float scale);

}  // namespace dptrain::data
