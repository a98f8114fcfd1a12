#include "data/transforms/hsv.h"

#include <algorithm>
#include <cmath>

namespace dptrain::data {

Hsv to_hsv(const float* rgb) {
  const float red = rgb[0], green = rgb[1], blue = rgb[2];
  const float most = std::max({red, green, blue}), range = most - std::min({red, green, blue});
  Hsv hsv{.hue = 0, .saturation = most > 0 ? range / most : 0, .value = most};
  if (!(range > 0)) return hsv;
  const float norm = 1 / (6 * range);
  if (red == most) {
    hsv.hue = norm * (green - blue);
  } else if (green == most) {
    hsv.hue = norm * (blue - red) + 2.0F / 6;
  } else {
    hsv.hue = norm * (red - green) + 4.0F / 6;
  }
  if (hsv.hue < 0) hsv.hue += 1;
  return hsv;
}

void to_rgb(const Hsv& hsv, float* rgb) {
  const float turn = hsv.hue * 6;
  const float part[] = {std::fabs(turn - 3) - 1, 2 - std::fabs(turn - 2), 2 - std::fabs(turn - 4)};
  for (int c = 0; c < 3; ++c)
    rgb[c] = (1 - hsv.saturation + hsv.saturation * std::clamp(part[c], 0.0F, 1.0F)) * hsv.value;
}

}  // namespace dptrain::data
