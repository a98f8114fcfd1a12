#pragma once

#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// The hue turned by +-factor / 2 of a full turn, either sign as likely: factor uniform in [0, f] or [lower, upper].
struct RandomHueSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// Of an RGB image of floats, in place: `delta` is what is added to the hue, within -1..1.
void turn_hue(Array& image, float delta, const std::vector<double>& value_range);

}  // namespace dptrain::data
