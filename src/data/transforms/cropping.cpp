#include "data/transforms/cropping.h"

#include <algorithm>
#include <cmath>

#include "data/images/image_resize.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class CenterCrop final : public Transform {
 public:
  explicit CenterCrop(const CenterCropSpec& spec) : spec_(spec) {}

  bool fixes_size() const override { return true; }
  bool moves_pixels() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return {};
    check_image(input);
    return {spec_.height, spec_.width, input[2]};
  }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    if (fits(in.shape)) {
      crop(in, middle(in.shape), out);
    } else {
      resize_image(in, centred(in.shape, spec_.height, spec_.width), resize(), out);
    }
  }
  void write(const ImageView& in, const DrawKey&, std::uint32_t, const Finish& finish, Array&,
             float* out) const override {
    if (fits(in.shape)) {
      crop(in, middle(in.shape), finish, out);
    } else {
      resize_image(in, centred(in.shape, spec_.height, spec_.width), resize(), finish, out);
    }
  }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return write_crop(spec_.height, spec_.width, 0, false, op), true;
  }
  std::optional<formats::ImageStep> image_step() const override {
    return formats::CropCentre{.height = spec_.height, .width = spec_.width};
  }
  Window part(const Shape& image, const DrawKey&, std::uint32_t) const override {
    return fits(image) ? middle(image) : centred(image, spec_.height, spec_.width);
  }

 private:
  bool fits(const Shape& image) const { return image[0] >= spec_.height && image[1] >= spec_.width; }
  Window middle(const Shape& image) const {
    return {(image[0] - spec_.height) / 2, (image[1] - spec_.width) / 2, spec_.height, spec_.width};
  }
  Resize resize() const { return {.height = spec_.height, .width = spec_.width}; }

  CenterCropSpec spec_;
};

const RegisteredTransform kCenterCrop = transform_def<CenterCropSpec, CenterCrop>(
    config::Schema::of<CenterCropSpec>("CenterCrop")
        .doc("crops the center; a smaller image is resized as by `Resizing` with `crop_to_aspect_ratio`")
        .key(key("height", &CenterCropSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &CenterCropSpec::width).required().at_least(1).doc("columns of the result")));

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
  /// nullopt for an image that is too small.
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
        .doc("crops a random part; a smaller image is resized as by `CenterCrop`")
        .key(key("height", &RandomCropSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &RandomCropSpec::width).required().at_least(1).doc("columns of the result"))
        .key(key("padding", &RandomCropSpec::padding)
                 .at_least(0)
                 .doc("zeros that are added on every side before the crop")));

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
  /// torchvision/transforms/transforms.py, RandomResizedCrop.get_params: ten draws, then the center.
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
        .doc("crops a random part and resizes it, as torchvision")
        .key(key("height", &RandomResizedCropSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &RandomResizedCropSpec::width).required().at_least(1).doc("columns of the result"))
        .key(key("scale", &RandomResizedCropSpec::scale)
                 .above(0)
                 .at_most(1)
                 .check(check_pair)
                 .doc("[lower, upper] share of the image's area"))
        .key(key("ratio", &RandomResizedCropSpec::ratio)
                 .above(0)
                 .check(check_pair)
                 .doc("[lower, upper] ratio of width to height of the part"))
        .key(key("interpolation", &RandomResizedCropSpec::interpolation).doc("how values between pixels are computed"))
        .key(key("antialias", &RandomResizedCropSpec::antialias)
                 .doc("whether to average over pixels when the image shrinks")));

class Resizing final : public Transform {
 public:
  explicit Resizing(const ResizingSpec& spec)
      : resize_{.height = spec.height,
                .width = spec.width,
                .interpolation = spec.interpolation,
                .antialias = spec.antialias},
        crop_(spec.crop_to_aspect_ratio),
        scaled_decode_(spec.scaled_decode) {}

  bool fixes_size() const override { return true; }
  bool moves_pixels() const override { return crop_; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return {};
    check_image(input);
    return {resize_.height, resize_.width, input[2]};
  }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    resize_image(in, window(in.shape), resize_, out);
  }
  void write(const ImageView& in, const DrawKey&, std::uint32_t, const Finish& finish, Array&,
             float* out) const override {
    resize_image(in, window(in.shape), resize_, finish, out);
  }
  std::optional<formats::ImageStep> image_step() const override {
    using Filter = formats::ResizeImage::Filter;
    const bool nearest = resize_.interpolation == Interpolation::kNearest;
    return formats::ResizeImage{.height = resize_.height,
                                .width = resize_.width,
                                .filter = nearest             ? Filter::kNearest
                                          : resize_.antialias ? Filter::kTriangle
                                                              : Filter::kBilinear,
                                .crop_to_aspect_ratio = crop_};
  }
  ReadHint hint() const override {
    return scaled_decode_ ? ReadHint{.min_height = resize_.height, .min_width = resize_.width} : ReadHint{};
  }
  Window part(const Shape& image, const DrawKey&, std::uint32_t) const override { return window(image); }

 private:
  Window window(const Shape& image) const {
    return crop_ ? centred(image, resize_.height, resize_.width) : whole(image);
  }

  Resize resize_;
  bool crop_, scaled_decode_;
};

std::string check_antialias(const ResizingSpec& spec) {
  return spec.antialias && spec.interpolation == Interpolation::kNearest
             ? "antialias needs interpolation: bilinear, found nearest"
             : "";
}

const RegisteredTransform kResizing = transform_def<ResizingSpec, Resizing>(
    config::Schema::of<ResizingSpec>("Resizing")
        .doc("resizes images and frames")
        .key(key("height", &ResizingSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &ResizingSpec::width).required().at_least(1).doc("columns of the result"))
        .key(key("interpolation", &ResizingSpec::interpolation).doc("how values between pixels are computed"))
        .key(key("crop_to_aspect_ratio", &ResizingSpec::crop_to_aspect_ratio)
                 .doc("cut the sides off instead of distorting"))
        .key(key("antialias", &ResizingSpec::antialias)
                 .doc("true: a wider filter if the image shrinks, as in `tf.image.resize`"))
        .key(key("scaled_decode", &ResizingSpec::scaled_decode)
                 .doc("for the first transform only: decodes JPEGs at 1/2, 1/4 or 1/8 of their size, not below height "
                      "and width; faster, other pixels"))
        .rule<ResizingSpec>(check_antialias));

}  // namespace
}  // namespace dptrain::data
