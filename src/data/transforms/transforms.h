#pragma once

// The transforms: specs with Keras's words, and what the family is filled with. Each type has a file of its own, which
// defines its keys and its arithmetic. Where Keras draws once per batch, these draw once per sample.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/images/image_resize.h"
#include "data/transform.h"
#include "layers/rescaling.h"

namespace dptrain::data {

using layers::RescalingSpec;

/// (x - mean) / max(sqrt(variance), 1e-7), one value for all or one per channel.
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;
};
/// To height x width; image_resize.h.
struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool crop_to_aspect_ratio = false, antialias = false;
  bool scaled_decode = false;  ///< JPEGs may be decoded at a part of their size that is not below height x width
};
/// What keras.applications does to the pixels of its networks.
enum class PreprocessMode { kCaffe, kTf, kTorch };
struct PreprocessInputSpec {
  PreprocessMode mode = PreprocessMode::kCaffe;
};
/// The middle height x width. A smaller image is resized as Resizing with crop_to_aspect_ratio does it.
struct CenterCropSpec {
  std::int64_t height = 0, width = 0;
};
/// A random height x width out of the image with `padding` zeros on every side. A smaller image is resized
/// as in CenterCrop.
struct RandomCropSpec {
  std::int64_t height = 0, width = 0, padding = 0;
};
/// A window of random area and ratio of sides, resized to height x width: the augmentation of Szegedy et al. (2015),
/// drawn as torchvision does.
struct RandomResizedCropSpec {
  std::int64_t height = 0, width = 0;
  std::vector<double> scale{0.08, 1.0};         ///< of the area
  std::vector<double> ratio{3.0 / 4, 4.0 / 3};  ///< width / height
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = false;
};
enum class FlipMode { kHorizontal, kVertical, kHorizontalAndVertical };
/// Each direction with probability 1/2, independently.
struct RandomFlipSpec {
  FlipMode mode = FlipMode::kHorizontalAndVertical;
};
enum class FillMode { kReflect, kWrap, kConstant, kNearest };
/// What RandomRotation, RandomZoom and RandomTranslation have in common; random_warp.h.
struct WarpArguments {
  FillMode fill_mode = FillMode::kReflect;
  Interpolation interpolation = Interpolation::kBilinear;
  double fill_value = 0;
};
/// By a fraction of a full turn, uniform in [-factor, factor] or [lower, upper]; positive ones as Keras turns.
struct RandomRotationSpec : WarpArguments {
  std::vector<double> factor;
};
/// Heights by 1 + f, f uniform in [-factor, factor] or [lower, upper]: positive ones zoom out. Widths by the same
/// number, or by one of their own.
struct RandomZoomSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};
/// By fractions of height and width; positive ones down and to the right.
struct RandomTranslationSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
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
std::unique_ptr<config::TypeDef> preprocess_input_def();
std::unique_ptr<config::TypeDef> resizing_def();
std::unique_ptr<config::TypeDef> center_crop_def();
std::unique_ptr<config::TypeDef> random_crop_def();
std::unique_ptr<config::TypeDef> random_resized_crop_def();
std::unique_ptr<config::TypeDef> random_flip_def();
std::unique_ptr<config::TypeDef> random_rotation_def();
std::unique_ptr<config::TypeDef> random_zoom_def();
std::unique_ptr<config::TypeDef> random_translation_def();
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
/// A random transform's factor: one number, or [lower, upper]; a schema check.
std::string check_factor(const std::vector<double>& factor);
/// A factor f as [-f, f], or as it is.
std::pair<double, double> factor_range(const std::vector<double>& factor);
/// The values clipped to `range`.
void clip(std::vector<float>& values, const std::vector<double>& range);
/// `out` becomes the floats of the image.
void copy_floats(const ImageView& image, Array& out);
/// `out` becomes the window; zeros where it lies outside the image.
void crop(const ImageView& image, const Window& window, Array& out);
/// The same, finished: height * width * channels floats.
void crop(const ImageView& image, const Window& window, const Finish& finish, float* out);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::Interpolation> {
  static constexpr std::array names{std::pair{data::Interpolation::kNearest, "nearest"},
                                    std::pair{data::Interpolation::kBilinear, "bilinear"}};
};
}  // namespace dptrain::config
