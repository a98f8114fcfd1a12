#pragma once

// What random transforms share: their stream of numbers, and factors as Keras writes them.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/shape.h"
#include "data/source.h"
#include "data/transform.h"

namespace dptrain::data {

/// The numbers of one sample in one epoch; `index` is the transform's place in the pipeline.
inline RandomStream draws(const DrawKey& key, std::uint32_t index) {
  return {key.seed, static_cast<std::uint32_t>(Purpose::kTransform) + index, key.sample, key.epoch};
}
/// A second stream of the transform at `index`: for its partner, or for the operation `which` (below 128) of those that
/// it is made of. No place in a pipeline has this number.
constexpr std::uint32_t inner_index(std::uint32_t index, std::uint32_t which) { return (index + 1) << 7 | which; }
inline constexpr std::uint32_t kPartnerDraw = 127;
/// Uniform in [low, high).
inline float uniform(RandomStream& stream, double low, double high) {
  return static_cast<float>(low + (high - low) * static_cast<double>(stream.uniform()));
}
/// `value_range` must be [low, high]; a schema check.
std::string check_range(const std::vector<double>& range);
/// A random transform's factor: one number, or [lower, upper]; a schema check.
std::string check_factor(const std::vector<double>& factor);
/// A factor f as [-f, f], or as it is.
std::pair<double, double> factor_range(const std::vector<double>& factor);
/// A factor that is never negative: one number f within 0..1 for [0, f], or [lower, upper]; a schema check.
std::string check_part(const std::vector<double>& factor);
/// A factor f as [0, f], or as it is.
std::pair<double, double> part_range(const std::vector<double>& factor);

/// Draws from Beta(alpha, alpha), alpha > 0: x / (x + y) of two Gamma(alpha) draws by the method of Marsaglia and Tsang
/// ("A Simple Method for Generating Gamma Variables", 2000), in logarithms, so that a small alpha loses nothing.
double draw_beta(RandomStream& stream, double alpha);

/// The rectangle that RandomErasing and CutMix cut, with Keras's arithmetic: parts of the width and height, at a place
/// drawn in what they leave (random_erasing.py and cut_mix.py, _compute_crop_bounds).
struct BoxDraw {
  float width = 0, height = 0;  ///< parts of the image's
  float x = 0, y = 0;           ///< where in the room left, 0..1
};
/// The pixels whose whole numbers lie in it.
Window box_of(const BoxDraw& draw, const Shape& image);

}  // namespace dptrain::data
