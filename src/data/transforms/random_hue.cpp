// keras/src/nn/preprocessing/image_preprocessing/random_hue.py

#include "data/transforms/random_hue.h"

#include <algorithm>

#include "data/transforms/hsv.h"
#include "data/transforms/random_colour.h"

namespace dptrain::data {
namespace {

class RandomHue final : public RandomColour {
 public:
  explicit RandomHue(const RandomHueSpec& spec) : RandomColour(spec.factor, spec.value_range) {}

 private:
  void change(RandomStream& stream, Array& image) const override {
    const float sign = stream.uniform() > 0.5F ? -1.0F : 1.0F;
    turn_hue(image, sign * draw_factor(stream) * 0.5F, range());
  }
};

const RegisteredTransform kRandomHue = transform_def<RandomHueSpec, RandomHue>(colour_schema<RandomHueSpec>(
    "RandomHue", "of half a turn of the hue, to either side: f for [0, f], or [lower, upper]",
    "least and largest value"));

}  // namespace

void turn_hue(Array& image, float delta, const std::vector<double>& value_range) {
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

}  // namespace dptrain::data
