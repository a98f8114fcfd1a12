#include "data/transforms/random_crop.h"

#include "data/images/image_resize.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixel_op.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomCrop final : public Transform {
 public:
  explicit RandomCrop(const RandomCropSpec& spec) : spec_(spec) {}

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  bool fixes_size() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return {};
    check_image(input);
    return {spec_.height, spec_.width, input[2]};
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    if (const auto window = draw(in.shape, key, index)) {
      crop(in, *window, out);
    } else {
      resize_image(in, centred(in.shape, spec_.height, spec_.width), resize(), out);
    }
  }
  void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array&,
             float* out) const override {
    if (const auto window = draw(in.shape, key, index)) {
      crop(in, *window, finish, out);
    } else {
      resize_image(in, centred(in.shape, spec_.height, spec_.width), resize(), finish, out);
    }
  }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return write_crop(spec_.height, spec_.width, spec_.padding, true, op), true;
  }
  Window part(const Shape& image, const DrawKey& key, std::uint32_t index) const override {
    const auto window = draw(image, key, index);
    return window ? inside(image, *window) : centred(image, spec_.height, spec_.width);
  }

 private:
  Resize resize() const { return {.height = spec_.height, .width = spec_.width}; }
  /// Nothing for an image that is too small.
  std::optional<Window> draw(const Shape& image, const DrawKey& key, std::uint32_t index) const {
    const std::int64_t down = room(image[0], spec_.height), right = room(image[1], spec_.width);
    if (down < 0 || right < 0) return std::nullopt;
    RandomStream stream = draws(key, index);
    const std::int64_t top = offset(stream, down), left = offset(stream, right);
    return Window{top - spec_.padding, left - spec_.padding, spec_.height, spec_.width};
  }
  std::int64_t room(std::int64_t size, std::int64_t wanted) const { return size + 2 * spec_.padding - wanted; }
  static std::int64_t offset(RandomStream& stream, std::int64_t room) {
    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1));
  }

  RandomCropSpec spec_;
};

const RegisteredTransform kRandomCrop = transform_def<RandomCropSpec, RandomCrop>(
    config::Schema::of<RandomCropSpec>("RandomCrop")
        .key(key("height", &RandomCropSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &RandomCropSpec::width).required().at_least(1).doc("columns of the result"))
        .key(key("padding", &RandomCropSpec::padding).at_least(0).doc("zeros added on every side before")));

}  // namespace

}  // namespace dptrain::data
