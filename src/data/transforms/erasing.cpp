// keras/src/layers/preprocessing/image_preprocessing/random_erasing.py (Zhong et al., "Random Erasing Data
// Augmentation", 2017).

#include "data/transforms/erasing.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomErasing final : public Transform {
 public:
  explicit RandomErasing(const RandomErasingSpec& spec)
      : spec_(spec), factor_(part_range(spec.factor)), scale_(part_range(spec.scale)) {}

  bool random() const override { return true; }
  bool expects_pixels() const override { return spec_.value_range[1] - spec_.value_range[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const override {
    check_image(input);
    if (input.rank() != 0 && spec_.fill_value.size() > 1 && input[2] != 3)
      throw Error(ErrorKind::kUsage, fmt::format("fill_value has 3 values, but samples are {}", input.str()));
    return input;
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    RandomStream stream = draws(key, index);
    BoxDraw draw;
    draw.width = std::sqrt(uniform(stream, scale_.first, scale_.second));
    draw.height = std::sqrt(uniform(stream, scale_.first, scale_.second));
    draw.x = stream.uniform();
    draw.y = stream.uniform();
    const float probability = uniform(stream, factor_.first, factor_.second);
    const bool erases = stream.uniform() < probability;
    copy_floats(in, out);
    if (erases) erase(out, box_of(draw, in.shape), spec_, stream);
  }

 private:
  RandomErasingSpec spec_;
  std::pair<double, double> factor_, scale_;
};

std::string check_fill(const std::vector<double>& fill) {
  return fill.size() <= 1 || fill.size() == 3 ? "" : "must be one number or three, or absent for noise";
}

const RegisteredTransform kRandomErasing = transform_def<RandomErasingSpec, RandomErasing>(
    config::Schema::of<RandomErasingSpec>("RandomErasing")
        .doc("fills a random rectangle with noise or values")
        .positional(part_key("factor", &RandomErasingSpec::factor)
                        .doc("probability, drawn from a range: f for [0, f], or [lower, upper]"))
        .key(part_key("scale", &RandomErasingSpec::scale)
                 .doc("area of the rectangle as a share of the image, drawn from a range: f for [0, f], or [lower, "
                      "upper]"))
        .key(key("fill_value", &RandomErasingSpec::fill_value)
                 .check(check_fill)
                 .doc("one number, or three for RGB; default: noise, a normal draw for each value"))
        .key(value_range_key<RandomErasingSpec>("[smallest, largest] value of a pixel, to which the fill is clipped")));

}  // namespace

void erase(Array& image, const Window& box, const RandomErasingSpec& spec, RandomStream& stream) {
  const std::int64_t width = image.shape[1], channels = image.shape[2];
  const auto filling = [&](std::int64_t channel) {
    const double value = spec.fill_value.empty()
                             ? stream.normal() * spec.value_range[1]
                             : spec.fill_value[spec.fill_value.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
    return static_cast<float>(std::clamp(value, spec.value_range[0], spec.value_range[1]));
  };
  for (std::int64_t y = box.top; y < box.top + box.height; ++y)
    for (std::int64_t i = 0; i < box.width * channels; ++i)
      image.f32[static_cast<std::size_t>((y * width + box.left) * channels + i)] = filling(i % channels);
}

}  // namespace dptrain::data
