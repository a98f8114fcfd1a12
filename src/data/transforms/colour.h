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

/// The hue turned by +-factor / 2 of a full turn, either sign as likely: factor uniform in [0, f] or [lower, upper].
struct RandomHueSpec {
  std::vector<double> factor;
  std::vector<double> value_range{0, 255};
};
/// Of an RGB image of floats, in place: `delta` is what is added to the hue, within -1..1.
void turn_hue(Array& image, float delta, const std::vector<double>& value_range);

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

/// Gray with probability `factor`, in as many channels as before.
struct RandomGrayscaleSpec {
  double factor = 0.5;
};
/// Of an RGB image of floats, in place: 0.2989 R + 0.5870 G + 0.1140 B in each channel.
void make_gray(Array& image);

}  // namespace dptrain::data
