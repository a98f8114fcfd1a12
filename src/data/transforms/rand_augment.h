#pragma once

#include <cstdint>
#include <vector>

#include "data/images/image_resize.h"
#include "data/source.h"

namespace dptrain::data {

// The operations of RandAugment that are not transforms change images of floats in place, with Keras's arithmetic
// (random_color_degeneration.py, random_sharpness.py, random_posterization.py, solarization.py, auto_contrast.py,
// equalization.py in keras/src/layers/preprocessing/image_preprocessing/).

/// [low, high] of the values.
using ValueRange = std::vector<double>;

/// Blends towards gray: x + factor (gray - x), clipped. Images without three channels are only clipped.
void degenerate_color(Array& image, float factor, const ValueRange& range);
/// x + (1 - 2 factor) (smooth - x), clipped. `smooth` is a 3 x 3 mean with weight 5 for the pixel itself and zeros
/// outside the image.
void sharpen(Array& image, float factor, const ValueRange& range);
/// Scales values to bytes and keeps their upper `bits`, 1 to 8.
void posterize(Array& image, int bits, const ValueRange& range);
/// Scales values to bytes, adds `addition`, clips, and inverts values to 255 - x unless they are below the threshold.
void solarize(Array& image, float addition, float threshold, const ValueRange& range);
/// Stretches each channel over the range. A constant channel is unchanged.
void stretch_contrast(Array& image, const ValueRange& range);
/// Equalizes each channel's histogram of 256 bins. A channel in a single bin is unchanged.
void equalize(Array& image, const ValueRange& range);

/// Applies `num_ops` of eleven operations in sequence, drawn for every sample, with a strength in `factor`: f for
/// [0, f], or [lower, upper].
struct RandAugmentSpec {
  std::vector<double> value_range{0, 255};
  std::int64_t num_ops = 2;
  std::vector<double> factor{0.5};
  Interpolation interpolation = Interpolation::kBilinear;
};

}  // namespace dptrain::data
