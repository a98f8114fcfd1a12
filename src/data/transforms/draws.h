#pragma once

// Random numbers and factors of random transforms, with Keras's conventions. Pure functions; any thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/shape.h"
#include "data/source.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {

/// Random stream of one sample in one epoch. `index`: the transform's position in the pipeline.
inline RandomStream draws(const DrawKey& key, std::uint32_t index) {
  return {key.seed, static_cast<std::uint32_t>(Purpose::kTransform) + index, key.sample, key.epoch};
}
/// Index of an additional stream of the transform at `index`, for its partner or its operation `which` < 128. Differs
/// from all positions in a pipeline.
constexpr std::uint32_t inner_index(std::uint32_t index, std::uint32_t which) { return (index + 1) << 7 | which; }
inline constexpr std::uint32_t kPartnerDraw = 127;
/// Uniform in [low, high).
inline float uniform(RandomStream& stream, double low, double high) {
  return static_cast<float>(low + (high - low) * static_cast<double>(stream.uniform()));
}
/// Schema check: `value_range` must be [low, high].
std::string check_range(const std::vector<double>& range);
template <class Spec>
auto value_range_key(std::string doc = "[smallest, largest] value of a pixel") {
  return key("value_range", &Spec::value_range).check(check_range).doc(std::move(doc));
}
/// Schema check of a random transform's factor: one number, or [lower, upper].
std::string check_factor(const std::vector<double>& factor);
template <class Spec>
auto factor_key(std::string name, std::vector<double> Spec::*factor) {
  return key(std::move(name), factor).at_least(-1).at_most(1).check(check_factor);
}
/// [-f, f] for one number f; a pair unchanged.
std::pair<double, double> factor_range(const std::vector<double>& factor);
/// Schema check of a factor that is never negative: one number f within 0..1 for [0, f], or [lower, upper].
std::string check_part(const std::vector<double>& factor);
template <class Spec>
auto part_key(std::string name, std::vector<double> Spec::*factor) {
  return key(std::move(name), factor).at_least(0).at_most(1).check(check_part);
}
/// [0, f] for one number f; a pair unchanged.
std::pair<double, double> part_range(const std::vector<double>& factor);

/// Draws from Beta(alpha, alpha), alpha > 0, as x / (x + y) of two Gamma(alpha) draws. Works with logarithms, so a
/// small alpha keeps its precision. Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
double draw_beta(RandomStream& stream, double alpha);

/// The rectangle of RandomErasing and CutMix, with Keras's arithmetic (_compute_crop_bounds in random_erasing.py and
/// cut_mix.py), entirely within the image.
struct BoxDraw {
  float width = 0, height = 0;  ///< fractions of the image's size
  float x = 0, y = 0;           ///< position in the remaining width and height, 0..1
};
/// The pixels whose integer coordinates are in the rectangle.
Window box_of(const BoxDraw& draw, const Shape& image);

}  // namespace dptrain::data
