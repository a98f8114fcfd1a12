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

/// Rotates the hue by +-factor / 2 of a full turn, either sign equally likely; factor uniform in [0, f] or
/// [lower, upper].
struct RandomHueSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// Adds `delta`, -1..1, to the hue of an RGB image of floats, in place.
void rotate_hue(Array& image, float delta, const std::vector<double>& value_range);

/// Scales the saturation by f / (1 - f), f uniform in [0, factor] or [lower, upper]. 0 is gray, 0.5 unchanged, 1 full.
struct RandomSaturationSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// f / (1 - f), the scale of the saturation.
float saturation_scale(float factor);
/// Scales the saturation of an RGB image of floats, in place, clipped to 1. Keras clips it to the upper end of
/// value_range, which for [0, 255] produces negative values.
void scale_saturation(Array& image, float scale);

/// Makes an image gray with probability `factor`. The number of channels is unchanged.
struct RandomGrayscaleSpec {
  double factor = 0.5;
};
/// Sets each channel of an RGB image of floats to 0.2989 R + 0.5870 G + 0.1140 B, in place.
void make_gray(Array& image);

}  // namespace dptrain::data
