#pragma once

#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// x + delta * (high - low), clipped to value_range; delta uniform in [-factor, factor], or in [lower, upper].
struct RandomBrightnessSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};

/// (x - mean) * c + mean by channel, clipped to value_range; c uniform in [1 - factor, 1 + factor], or in
/// [1 - lower, 1 + upper].
struct RandomContrastSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};

/// Hue rotated by +-factor / 2 of a full turn, both signs equally likely; factor uniform in [0, f] or [lower, upper].
struct RandomHueSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// Rotates the hue of an RGB image of floats, in place. `delta` is added to the hue and within -1..1.
void turn_hue(Array& image, float delta, const std::vector<double>& value_range);

/// The saturation times f / (1 - f), f uniform in [0, factor] or [lower, upper]: 0 is gray, 0.5 unchanged, 1 full.
struct RandomSaturationSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// The factor of the saturation, f / (1 - f), for a drawn f.
float saturation_scale(float factor);
/// Scales the saturation of an RGB image of floats, in place, limited to 1, the purest colour. Keras limits it to the
/// upper end of value_range: the same for [0, 1], but the cause of negative values for [0, 255].
void scale_saturation(Array& image, float scale);

/// Gray with probability `factor`. The number of channels is unchanged.
struct RandomGrayscaleSpec {
  double factor = 0.5;
};
/// Sets each channel of an RGB image of floats to 0.2989 R + 0.5870 G + 0.1140 B, in place.
void make_gray(Array& image);

}  // namespace dptrain::data
