#include "data/transforms/colour.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

/// Color as in TensorFlow's rgb_to_hsv and hsv_to_rgb (tensorflow/core/kernels/image/colorspace_op.h): hue and
/// saturation in 0..1; value: the largest channel.
struct Hsv {
  float hue = 0, saturation = 0, value = 0;
};

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

/// Base class of transforms that change colors by a factor drawn from a range.
class RandomColour : public Transform {
 public:
  RandomColour(const std::pair<double, double>& factor, const std::vector<double>& value_range)
      : factor_(factor), range_(value_range) {}

  bool random() const final { return true; }
  bool expects_pixels() const final { return range_[1] - range_[0] > kSmallestPixelRange; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const final {
    RandomStream stream = draws(key, index);
    copy_floats(in, out);
    change(stream, out);
  }

 protected:
  float draw_factor(RandomStream& stream) const { return uniform(stream, factor_.first, factor_.second); }
  const std::vector<double>& range() const { return range_; }
  void write_factor(kernels::PixelOpKind kind, kernels::PixelOp& op) const {
    op.kind = kind;
    write_range(factor_.first, factor_.second, range_, op);
  }

 private:
  virtual void change(RandomStream& stream, Array& image) const = 0;

  std::pair<double, double> factor_;
  std::vector<double> range_;
};

class RandomBrightness final : public RandomColour {
 public:
  explicit RandomBrightness(const RandomBrightnessSpec& spec)
      : RandomColour(factor_range(spec.factor), spec.value_range) {}

  Shape output(const Shape& input) const override { return input; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return write_factor(kernels::PixelOpKind::kBrightness, op), true;
  }

 private:
  void change(RandomStream& stream, Array& image) const override {
    const float added = draw_factor(stream) * static_cast<float>(range()[1] - range()[0]);
    for (float& x : image.f32) x += added;
    clip(image.f32, range());
  }
};

const RegisteredTransform kRandomBrightness = transform_def<RandomBrightnessSpec, RandomBrightness>(
    config::Schema::of<RandomBrightnessSpec>("RandomBrightness")
        .doc("`x + f * (high - low)`, clipped to the `value_range` [low, high]")
        .positional(factor_key("factor", &RandomBrightnessSpec::factor)
                        .required()
                        .doc("range from which f is drawn: f for [-f, f], or [lower, upper]"))
        .key(value_range_key<RandomBrightnessSpec>()));

class RandomContrast final : public RandomColour {
 public:
  explicit RandomContrast(const RandomContrastSpec& spec)
      : RandomColour({1 - spec.factor.front(), 1 + spec.factor.back()}, spec.value_range) {}

  Shape output(const Shape& input) const override { return check_image(input), input; }
  bool write_op(std::int32_t channels, kernels::PixelOp& op) const override {
    return write_factor(kernels::PixelOpKind::kContrast, op), channels <= kernels::kMaxPixelChannels;
  }

 private:
  void change(RandomStream& stream, Array& image) const override {
    const float contrast = draw_factor(stream);
    const auto channels = static_cast<std::size_t>(image.shape[2]);
    const auto pixels = static_cast<double>(image.shape[0] * image.shape[1]);
    std::vector<double> sums(channels);
    for (std::size_t i = 0; i < image.f32.size(); i += channels) {
      for (std::size_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(image.f32[i + c]);
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const auto mean = static_cast<float>(sums[c] / pixels);
      for (std::size_t i = c; i < image.f32.size(); i += channels)
        image.f32[i] = (image.f32[i] - mean) * contrast + mean;
    }
    clip(image.f32, range());
  }
};

std::string check_contrast(const std::vector<double>& factor) {
  return factor.size() == 1 || factor.size() == 2 ? "" : "must be one number or [lower, upper]";
}

const RegisteredTransform kRandomContrast = transform_def<RandomContrastSpec, RandomContrast>(
    config::Schema::of<RandomContrastSpec>("RandomContrast")
        .doc("`(x - mean) * c + mean` per channel, clipped to `value_range`, with c drawn from `factor`")
        .positional(key("factor", &RandomContrastSpec::factor)
                        .required()
                        .at_least(0)
                        .at_most(1)
                        .check(check_contrast)
                        .doc("f: c is drawn from [1 - f, 1 + f]; [lower, upper]: from [1 - lower, 1 + upper]"))
        .key(value_range_key<RandomContrastSpec>()));

// keras/src/layers/preprocessing/image_preprocessing/random_hue.py
class RandomHue final : public RandomColour {
 public:
  explicit RandomHue(const RandomHueSpec& spec) : RandomColour(part_range(spec.factor), spec.value_range) {}

  Shape output(const Shape& input) const override { return check_rgb(input), input; }

 private:
  void change(RandomStream& stream, Array& image) const override {
    const float sign = stream.uniform() > 0.5F ? -1.0F : 1.0F;
    rotate_hue(image, sign * draw_factor(stream) * 0.5F, range());
  }
};

const RegisteredTransform kRandomHue = transform_def<RandomHueSpec, RandomHue>(
    config::Schema::of<RandomHueSpec>("RandomHue")
        .doc("rotates the hue of RGB images by up to `factor` / 2 of a full turn, in either direction")
        .positional(part_key("factor", &RandomHueSpec::factor)
                        .required()
                        .doc("range of the shares of half a turn: f for [0, f], or [lower, upper]"))
        .key(value_range_key<RandomHueSpec>()));

// keras/src/layers/preprocessing/image_preprocessing/random_saturation.py
class RandomSaturation final : public RandomColour {
 public:
  explicit RandomSaturation(const RandomSaturationSpec& spec)
      : RandomColour(part_range(spec.factor), spec.value_range) {}

  Shape output(const Shape& input) const override { return check_rgb(input), input; }

 private:
  void change(RandomStream& stream, Array& image) const override {
    scale_saturation(image, saturation_scale(draw_factor(stream)));
  }
};

const RegisteredTransform kRandomSaturation = transform_def<RandomSaturationSpec, RandomSaturation>(
    config::Schema::of<RandomSaturationSpec>("RandomSaturation")
        .doc("multiplies the saturation of RGB images by `f / (1 - f)`, with f drawn from `factor`")
        .positional(part_key("factor", &RandomSaturationSpec::factor)
                        .required()
                        .doc("0: gray, 0.5: unchanged, 1: full saturation; f for [0, f], or [lower, upper]"))
        .key(value_range_key<RandomSaturationSpec>(
            "[smallest, largest] value of a pixel; the saturation does not depend on it")));

// keras/src/layers/preprocessing/image_preprocessing/random_grayscale.py
class RandomGrayscale final : public Transform {
 public:
  explicit RandomGrayscale(const RandomGrayscaleSpec& spec) : factor_(static_cast<float>(spec.factor)) {}

  bool random() const override { return true; }
  Shape output(const Shape& input) const override { return check_rgb(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    copy_floats(in, out);
    if (draws(key, index).uniform() < factor_) make_gray(out);
  }

 private:
  float factor_;
};

const RegisteredTransform kRandomGrayscale = transform_def<RandomGrayscaleSpec, RandomGrayscale>(
    config::Schema::of<RandomGrayscaleSpec>("RandomGrayscale")
        .doc("makes RGB images gray")
        .positional(key("factor", &RandomGrayscaleSpec::factor)
                        .at_least(0)
                        .at_most(1)
                        .doc("probability that an image becomes gray")));

}  // namespace

void rotate_hue(Array& image, float delta, const std::vector<double>& value_range) {
  const auto low = static_cast<float>(value_range[0]), size = static_cast<float>(value_range[1] - value_range[0]);
  for (std::size_t i = 0; i < image.f32.size(); i += 3) {
    float* const rgb = image.f32.data() + i;
    for (int c = 0; c < 3; ++c) rgb[c] = (rgb[c] - low) / size;
    Hsv hsv = to_hsv(rgb);
    hsv.hue += delta;
    if (hsv.hue > 1) hsv.hue -= 1;
    if (hsv.hue < 0) hsv.hue += 1;
    to_rgb(hsv, rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = std::clamp(rgb[c], 0.0F, 1.0F) * size + low;
  }
}

float saturation_scale(float factor) {
  constexpr float kEpsilon = 1e-7F;  // keras.backend.epsilon()
  return factor / (1 - factor + kEpsilon);
}

void scale_saturation(Array& image, float scale) {
  for (std::size_t i = 0; i < image.f32.size(); i += 3) {
    float* const rgb = image.f32.data() + i;
    Hsv hsv = to_hsv(rgb);
    hsv.saturation = std::clamp(hsv.saturation * scale, 0.0F, 1.0F);
    to_rgb(hsv, rgb);
  }
}

void make_gray(Array& image) {
  for (std::size_t i = 0; i < image.f32.size(); i += 3) {
    float* const rgb = image.f32.data() + i;
    std::fill_n(rgb, 3, luminance(rgb));
  }
}

}  // namespace dptrain::data
