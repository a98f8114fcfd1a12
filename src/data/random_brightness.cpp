#include "data/transforms.h"

namespace dptrain::data {
namespace {

class RandomBrightness final : public Transform {
 public:
  explicit RandomBrightness(const RandomBrightnessSpec& spec)
      : low_(spec.factor.size() == 1 ? -spec.factor[0] : spec.factor[0]),
        high_(spec.factor.back()),
        range_(spec.value_range) {}

  bool random() const override { return true; }
  Shape output(const Shape& input) const override { return input; }
  void apply(Array& image, Array&, const DrawKey& key, std::uint32_t index) const override {
    RandomStream stream = draws(key, index);
    const float added = uniform(stream, low_, high_) * static_cast<float>(range_[1] - range_[0]);
    for (float& x : image.f32) x += added;
    clip(image.f32, range_);
  }

 private:
  double low_, high_;
  std::vector<double> range_;
};

std::string check_factor(const std::vector<double>& factor) {
  if (factor.size() == 1) return factor[0] >= 0 ? "" : "must be >= 0, or [lower, upper]";
  return factor.size() == 2 && factor[0] <= factor[1] ? "" : "must be one number or [lower, upper]";
}

}  // namespace

std::unique_ptr<config::TypeDef> random_brightness_def() {
  using config::key;
  return transform_def<RandomBrightnessSpec, RandomBrightness>(
      config::Schema::of<RandomBrightnessSpec>("RandomBrightness")
          .positional(
              key("factor", &RandomBrightnessSpec::factor).required().at_least(-1).at_most(1).check(check_factor))
          .key(key("value_range", &RandomBrightnessSpec::value_range).check(check_range)));
}

}  // namespace dptrain::data
