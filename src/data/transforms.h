#pragma once

// The transforms: specs with Keras's words, and what the family is filled with. Each type has a file of its own, which
// defines its keys and its arithmetic. Where Keras draws once per batch, these draw once per sample.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/transform.h"
#include "layers/rescaling.h"

namespace dptrain::data {

using layers::RescalingSpec;

/// (x - mean) / max(sqrt(variance), 1e-7), one value for all or one per channel.
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;
};
/// The middle height x width.
struct CenterCropSpec {
  std::int64_t height = 0, width = 0;
};
/// A random height x width out of the image with `padding` zeros on every side.
struct RandomCropSpec {
  std::int64_t height = 0, width = 0, padding = 0;
};
enum class FlipMode { kHorizontal, kVertical, kHorizontalAndVertical };
/// Each direction with probability 1/2, independently.
struct RandomFlipSpec {
  FlipMode mode = FlipMode::kHorizontalAndVertical;
};
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
/// (x - mean) / max(standard deviation, 1 / sqrt(elements)) over the image (TensorFlow's).
struct PerImageStandardizationSpec {};

/// A member of the family that can make its transform.
struct TransformDef : config::TypeDef {
  std::function<std::unique_ptr<Transform>(const void* spec)> make;
};
template <class Spec, class Made>
std::unique_ptr<config::TypeDef> transform_def(config::Schema schema) {
  auto def = std::make_unique<TransformDef>();
  static_cast<config::TypeDef&>(*def) = config::type_def<Spec>(std::move(schema));
  def->make = [](const void* spec) { return std::make_unique<Made>(*static_cast<const Spec*>(spec)); };
  return def;
}

std::unique_ptr<config::TypeDef> rescaling_def();
std::unique_ptr<config::TypeDef> normalization_def();
std::unique_ptr<config::TypeDef> center_crop_def();
std::unique_ptr<config::TypeDef> random_crop_def();
std::unique_ptr<config::TypeDef> random_flip_def();
std::unique_ptr<config::TypeDef> random_brightness_def();
std::unique_ptr<config::TypeDef> random_contrast_def();
std::unique_ptr<config::TypeDef> per_image_standardization_def();

// Helpers that several of them share.

inline RandomStream draws(const DrawKey& key, std::uint32_t index) {
  return {key.seed, static_cast<std::uint32_t>(Purpose::kTransform) + index, key.sample, key.epoch};
}
/// Uniform in [low, high).
inline float uniform(RandomStream& stream, double low, double high) {
  return static_cast<float>(low + (high - low) * static_cast<double>(stream.uniform()));
}
/// Throws Error{kUsage} unless the image has the axes [H, W, C].
void check_image(const Shape& shape);
/// `value_range` must be [low, high]; a schema check.
std::string check_range(const std::vector<double>& range);
/// The values clipped to `range`.
void clip(std::vector<float>& values, const std::vector<double>& range);
/// image becomes its rows [top, top + height) and columns [left, left + width); zeros where these lie outside.
void crop(Array& image, Array& spare, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);

}  // namespace dptrain::data
