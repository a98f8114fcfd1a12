// keras/src/layers/preprocessing/image_preprocessing/random_hue.py

#include "data/transforms/random_hue.h"

#include <algorithm>

#include "data/transforms/draws.h"
#include "data/transforms/hsv.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomHue final : public Transform {
 public:
  explicit RandomHue(const RandomHueSpec& spec) : factor_(part_range(spec.factor)), range_(spec.value_range) {}

  bool random() const override { return true; }
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const override { return check_rgb(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    RandomStream stream = draws(key, index);
    const float sign = stream.uniform() > 0.5F ? -1.0F : 1.0F;
    copy_floats(in, out);
    turn_hue(out, sign * uniform(stream, factor_.first, factor_.second) * 0.5F, range_);
  }

 private:
  std::pair<double, double> factor_;
  std::vector<double> range_;
};

const RegisteredTransform kRandomHue = transform_def<RandomHueSpec, RandomHue>(
    config::Schema::of<RandomHueSpec>("RandomHue")
        .positional(key("factor", &RandomHueSpec::factor)
                        .required()
                        .at_least(0)
                        .at_most(1)
                        .check(check_part)
                        .doc("of half a turn of the hue, to either side: f for [0, f], or [lower, upper]"))
        .key(key("value_range", &RandomHueSpec::value_range).check(check_range).doc("least and largest value")));

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
