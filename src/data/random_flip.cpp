#include <algorithm>

#include "data/transforms.h"

namespace dptrain::config {
template <>
struct EnumNames<data::FlipMode> {
  static constexpr std::array names{std::pair{data::FlipMode::kHorizontal, "horizontal"},
                                    std::pair{data::FlipMode::kVertical, "vertical"},
                                    std::pair{data::FlipMode::kHorizontalAndVertical, "horizontal_and_vertical"}};
};
}  // namespace dptrain::config

namespace dptrain::data {
namespace {

template <class T>
void flip_columns(std::vector<T>& pixels, const Shape& shape) {
  const std::int64_t width = shape[1], channels = shape[2];
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    auto left = pixels.begin() + row * width * channels;
    auto right = left + (width - 1) * channels;
    for (; left < right; left += channels, right -= channels) std::swap_ranges(left, left + channels, right);
  }
}

template <class T>
void flip_rows(std::vector<T>& pixels, const Shape& shape) {
  const std::int64_t bytes = shape[1] * shape[2];
  auto top = pixels.begin();
  auto bottom = top + (shape[0] - 1) * bytes;
  for (; top < bottom; top += bytes, bottom -= bytes) std::swap_ranges(top, top + bytes, bottom);
}

class RandomFlip final : public Transform {
 public:
  explicit RandomFlip(const RandomFlipSpec& spec) : mode_(spec.mode) {}

  bool random() const override { return true; }
  bool takes_u8() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() > 0) check_image(input);
    return input;
  }
  void apply(Array& image, Array&, const DrawKey& key, std::uint32_t index) const override {
    check_image(image.shape);
    const std::uint32_t coins = draws(key, index).next_u32();
    if (mode_ != FlipMode::kVertical && (coins & 1U) != 0)
      image.type == DType::kU8 ? flip_columns(image.u8, image.shape) : flip_columns(image.f32, image.shape);
    if (mode_ != FlipMode::kHorizontal && (coins & 2U) != 0)
      image.type == DType::kU8 ? flip_rows(image.u8, image.shape) : flip_rows(image.f32, image.shape);
  }

 private:
  FlipMode mode_;
};

}  // namespace

std::unique_ptr<config::TypeDef> random_flip_def() {
  using config::key;
  return transform_def<RandomFlipSpec, RandomFlip>(
      config::Schema::of<RandomFlipSpec>("RandomFlip").positional(key("mode", &RandomFlipSpec::mode)));
}

}  // namespace dptrain::data
