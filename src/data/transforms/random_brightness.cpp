#include "data/transforms/transforms.h"

namespace dptrain::data {
namespace {

class RandomBrightness final : public Transform {
 public:
  explicit RandomBrightness(const RandomBrightnessSpec& spec)
      : low_(factor_range(spec.factor).first), high_(factor_range(spec.factor).second), range_(spec.value_range) {}

  bool random() const override { return true; }
  Shape output(const Shape& input) const override { return input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    copy_floats(in, out);
    RandomStream stream = draws(key, index);
    const float added = uniform(stream, low_, high_) * static_cast<float>(range_[1] - range_[0]);
    for (float& x : out.f32) x += added;
    clip(out.f32, range_);
  }

 private:
  double low_, high_;
  std::vector<double> range_;
};

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
