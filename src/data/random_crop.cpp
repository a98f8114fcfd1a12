#include "core/error.h"
#include "core/format.h"
#include "data/transforms.h"

namespace dptrain::data {
namespace {

class RandomCrop final : public Transform {
 public:
  explicit RandomCrop(const RandomCropSpec& spec) : spec_(spec) {}

  bool random() const override { return true; }
  bool takes_u8() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return {};
    check_image(input);
    if (room(input[0], spec_.height) < 0 || room(input[1], spec_.width) < 0)
      throw Error(ErrorKind::kUsage,
                  fmt::format("samples of {}{} are smaller than the crop {}x{}", input.str(),
                              spec_.padding > 0 ? fmt::format(" with padding {}", spec_.padding) : "", spec_.height,
                              spec_.width));
    return {spec_.height, spec_.width, input[2]};
  }
  void apply(Array& image, Array& spare, const DrawKey& key, std::uint32_t index) const override {
    static_cast<void>(output(image.shape));
    RandomStream stream = draws(key, index);
    const std::int64_t top = offset(stream, room(image.shape[0], spec_.height));
    const std::int64_t left = offset(stream, room(image.shape[1], spec_.width));
    crop(image, spare, top - spec_.padding, left - spec_.padding, spec_.height, spec_.width);
  }

 private:
  std::int64_t room(std::int64_t size, std::int64_t wanted) const { return size + 2 * spec_.padding - wanted; }
  static std::int64_t offset(RandomStream& stream, std::int64_t room) {
    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1));
  }

  RandomCropSpec spec_;
};

}  // namespace

std::unique_ptr<config::TypeDef> random_crop_def() {
  using config::key;
  return transform_def<RandomCropSpec, RandomCrop>(
      config::Schema::of<RandomCropSpec>("RandomCrop")
          .key(key("height", &RandomCropSpec::height).required().at_least(1))
          .key(key("width", &RandomCropSpec::width).required().at_least(1))
          .key(key("padding", &RandomCropSpec::padding).at_least(0).doc("zeros added on every side before")));
}

}  // namespace dptrain::data
