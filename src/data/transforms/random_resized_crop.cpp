#include "data/transforms/random_resized_crop.h"

#include <algorithm>
#include <cmath>

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomResizedCrop final : public Transform {
 public:
  explicit RandomResizedCrop(const RandomResizedCropSpec& spec)
      : spec_(spec),
        resize_{.height = spec.height,
                .width = spec.width,
                .interpolation = spec.interpolation,
                .antialias = spec.antialias} {}

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  bool fixes_size() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return {};
    check_image(input);
    return {spec_.height, spec_.width, input[2]};
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    resize_image(in, draw(in.shape, key, index), resize_, out);
  }
  void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array&,
             float* out) const override {
    resize_image(in, draw(in.shape, key, index), resize_, finish, out);
  }
  Window part(const Shape& image, const DrawKey& key, std::uint32_t index) const override {
    return draw(image, key, index);
  }

 private:
  /// torchvision/transforms/transforms.py, RandomResizedCrop.get_params: ten draws, then the middle.
  Window draw(const Shape& image, const DrawKey& key, std::uint32_t index) const {
    constexpr int kTries = 10;
    const auto height = static_cast<double>(image[0]), width = static_cast<double>(image[1]);
    RandomStream stream = draws(key, index);
    for (int i = 0; i < kTries; ++i) {
      const auto area = height * width * static_cast<double>(uniform(stream, spec_.scale[0], spec_.scale[1]));
      const auto ratio =
          std::exp(static_cast<double>(uniform(stream, std::log(spec_.ratio[0]), std::log(spec_.ratio[1]))));
      const auto w = std::llround(std::sqrt(area * ratio)), h = std::llround(std::sqrt(area / ratio));
      if (w < 1 || h < 1 || w > image[1] || h > image[0]) continue;
      const auto place = [&](std::int64_t room) {
        return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1));
      };
      const std::int64_t top = place(image[0] - h), left = place(image[1] - w);
      return {top, left, h, w};
    }
    Window window = whole(image);
    const double ratio = std::clamp(width / height, spec_.ratio[0], spec_.ratio[1]);
    if (width / height < ratio) window.height = std::clamp<std::int64_t>(std::llround(width / ratio), 1, image[0]);
    if (width / height > ratio) window.width = std::clamp<std::int64_t>(std::llround(height * ratio), 1, image[1]);
    window.top = (image[0] - window.height) / 2;
    window.left = (image[1] - window.width) / 2;
    return window;
  }

  RandomResizedCropSpec spec_;
  Resize resize_;
};

std::string check_pair(const std::vector<double>& pair) {
  return pair.size() == 2 && pair[0] <= pair[1] ? "" : "must be [lower, upper]";
}

const RegisteredTransform kRandomResizedCrop = transform_def<RandomResizedCropSpec, RandomResizedCrop>(
    config::Schema::of<RandomResizedCropSpec>("RandomResizedCrop")
        .key(key("height", &RandomResizedCropSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &RandomResizedCropSpec::width).required().at_least(1).doc("columns of the result"))
        .key(key("scale", &RandomResizedCropSpec::scale)
                 .above(0)
                 .at_most(1)
                 .check(check_pair)
                 .doc("of the image's area"))
        .key(key("ratio", &RandomResizedCropSpec::ratio).above(0).check(check_pair).doc("of width to height"))
        .key(key("interpolation", &RandomResizedCropSpec::interpolation).doc("how values between pixels are computed"))
        .key(key("antialias", &RandomResizedCropSpec::antialias)
                 .doc("whether to average over pixels when the image shrinks")));

}  // namespace

}  // namespace dptrain::data
