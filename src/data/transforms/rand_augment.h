#pragma once

#include <cstdint>
#include <vector>

#include "data/images/image_resize.h"
#include "data/source.h"

namespace dptrain::data {

/// The operations of RandAugment that are no transforms by themselves, each with Keras's arithmetic for what is drawn
/// (keras/src/nn/preprocessing/image_preprocessing/: random_color_degeneration.py, random_sharpness.py,
/// random_posterization.py, solarization.py, auto_contrast.py, equalization.py). On images of floats, in place;
/// `range` is [low, high] of their values.
using ValueRange = std::vector<double>;

/// Towards gray: x + factor (gray - x), clipped; of three channels.
void degenerate_color(Array& image, float factor, const ValueRange& range);
/// x + (1 - 2 factor) (smooth - x), clipped; smooth: the neighbours' mean with the pixel itself five times, zeros
/// outside.
void sharpen(Array& image, float factor, const ValueRange& range);
/// The upper `bits` of the byte that a value stands for, 1 to 8.
void posterize(Array& image, int bits, const ValueRange& range);
/// In bytes: x + addition, clipped; 255 - x where that is not below the threshold.
void solarize(Array& image, float addition, float threshold, const ValueRange& range);
/// Each channel stretched over the range; one of a single value stays.
void stretch_contrast(Array& image, const ValueRange& range);
/// Each channel's histogram of 256 bins made even; one of a single bin stays.
void equalize(Array& image, const ValueRange& range);

/// `num_ops` operations one after the other, each one of eleven, drawn anew for every sample, of a strength up to
/// `factor` (f for [0, f], or [lower, upper]).
struct RandAugmentSpec {
  std::vector<double> value_range{0, 255};
  std::int64_t num_ops = 2;
  std::vector<double> factor{0.5};
  Interpolation interpolation = Interpolation::kBilinear;
};

}  // namespace dptrain::data
