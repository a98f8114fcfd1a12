// keras/src/nn/preprocessing/image_preprocessing/random_saturation.py

#include "data/transforms/random_saturation.h"

#include <algorithm>

#include "data/transforms/hsv.h"
#include "data/transforms/random_colour.h"

namespace dptrain::data {
namespace {

class RandomSaturation final : public RandomColour {
 public:
  explicit RandomSaturation(const RandomSaturationSpec& spec) : RandomColour(spec.factor, spec.value_range) {}

 private:
  void change(RandomStream& stream, Array& image) const override {
    scale_saturation(image, saturation_scale(draw_factor(stream)));
  }
};

const RegisteredTransform kRandomSaturation =
    transform_def<RandomSaturationSpec, RandomSaturation>(colour_schema<RandomSaturationSpec>(
        "RandomSaturation", "0: gray, 0.5: as it is, 1: full; f for [0, f], or [lower, upper]",
        "least and largest value; the saturation does not depend on it"));

}  // namespace

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

}  // namespace dptrain::data
