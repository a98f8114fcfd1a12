#include "data/transforms/random_brightness.h"

#include "data/transforms/draws.h"
#include "data/transforms/pixel_op.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

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
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    op.kind = kernels::PixelOpKind::kBrightness;
    write_range(low_, high_, range_, op);
    return true;
  }

 private:
  double low_, high_;
  std::vector<double> range_;
};

const RegisteredTransform kRandomBrightness = transform_def<RandomBrightnessSpec, RandomBrightness>(
    config::Schema::of<RandomBrightnessSpec>("RandomBrightness")
        .positional(key("factor", &RandomBrightnessSpec::factor)
                        .required()
                        .at_least(-1)
                        .at_most(1)
                        .check(check_factor)
                        .doc("range of the added brightness as a share of the value range"))
        .key(key("value_range", &RandomBrightnessSpec::value_range)
                 .check(check_range)
                 .doc("[smallest, largest] value of a pixel")));

}  // namespace

}  // namespace dptrain::data
