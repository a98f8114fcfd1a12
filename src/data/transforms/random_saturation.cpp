// keras/src/layers/preprocessing/image_preprocessing/random_saturation.py

#include "data/transforms/random_saturation.h"

#include <algorithm>

#include "data/transforms/draws.h"
#include "data/transforms/hsv.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomSaturation final : public Transform {
 public:
  explicit RandomSaturation(const RandomSaturationSpec& spec)
      : factor_(part_range(spec.factor)), range_(spec.value_range) {}

  bool random() const override { return true; }
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const override { return check_rgb(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    RandomStream stream = draws(key, index);
    copy_floats(in, out);
    scale_saturation(out, saturation_scale(uniform(stream, factor_.first, factor_.second)));
  }

 private:
  std::pair<double, double> factor_;
  std::vector<double> range_;
};

const RegisteredTransform kRandomSaturation = transform_def<RandomSaturationSpec, RandomSaturation>(
    config::Schema::of<RandomSaturationSpec>("RandomSaturation")
        .positional(key("factor", &RandomSaturationSpec::factor)
                        .required()
                        .at_least(0)
                        .at_most(1)
                        .check(check_part)
                        .doc("0: gray, 0.5: as it is, 1: full; f for [0, f], or [lower, upper]"))
        .key(key("value_range", &RandomSaturationSpec::value_range)
                 .check(check_range)
                 .doc("least and largest value; the saturation does not depend on it")));

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
