#include "data/transforms/cropping.h"

#include <algorithm>
#include <cmath>

#include "data/images/image_resize.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

/// Base class of transforms to one size.
class FixedSizeTransform : public Transform {
 public:
  bool fixes_size() const final { return true; }
  bool moves_pixels() const final { return true; }
  Shape output(const Shape& input) const final {
    if (input.rank() == 0) return {};
    check_image(input);
    return {size_.height, size_.width, input[2]};
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const final {
    const Cut cut = draw(in.shape, key, index);
    cut.resized ? resize_image(in, cut.window, size_, out) : crop(in, cut.window, 0, out);
  }
  void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array&,
             float* out) const final {
    const Cut cut = draw(in.shape, key, index);
    cut.resized ? resize_image(in, cut.window, size_, finish, out) : crop(in, cut.window, finish, out);
  }
  void apply_to_map(const ImageView& in, float fill, Array& out, const DrawKey& key, std::uint32_t index) const final {
    const Cut cut = draw(in.shape, key, index);
    if (cut.resized)
      resize_image(in, cut.window,
                   {.height = size_.height, .width = size_.width, .interpolation = Interpolation::kNearest}, out);
    else
      crop(in, cut.window, fill, out);
  }
  Window window(const Shape& image) const final { return draw(image, {}, 0).window; }
  Window part(const Shape& image, const DrawKey& key, std::uint32_t index) const final {
    const Cut cut = draw(image, key, index);
    return cut.resized ? cut.window : inside(image, cut.window);
  }

 protected:
  /// A window to resize, within the image, or a window of the final size, in part outside of it.
  struct Cut {
    Window window;
    bool resized = true;
  };

  explicit FixedSizeTransform(const Resize& size) : size_(size) {}

  virtual Cut draw(const Shape& image, const DrawKey& key, std::uint32_t index) const = 0;

  const Resize& size() const { return size_; }
  Cut centred_cut(const Shape& image) const { return {centred(image, size_.height, size_.width)}; }
  static std::int64_t offset(RandomStream& stream, std::int64_t room) {
    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1));
  }

 private:
  Resize size_;
};

/// Schema with the keys `height` and `width`.
template <class Spec>
config::Schema size_schema(std::string name, std::string doc) {
  return config::Schema::of<Spec>(std::move(name))
      .doc(std::move(doc))
      .key(key("height", &Spec::height).required().at_least(1).doc("rows of the result"))
      .key(key("width", &Spec::width).required().at_least(1).doc("columns of the result"));
}

class CenterCrop final : public FixedSizeTransform {
 public:
  explicit CenterCrop(const CenterCropSpec& spec) : FixedSizeTransform({.height = spec.height, .width = spec.width}) {}

  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return write_crop(size().height, size().width, 0, false, op), true;
  }
  std::optional<formats::ImageStep> image_step() const override {
    return formats::CropCentre{.height = size().height, .width = size().width};
  }

 private:
  Cut draw(const Shape& image, const DrawKey&, std::uint32_t) const override {
    const std::int64_t down = image[0] - size().height, right = image[1] - size().width;
    if (down < 0 || right < 0) return centred_cut(image);
    return {.window = {down / 2, right / 2, size().height, size().width}, .resized = false};
  }
};

const RegisteredTransform kCenterCrop = transform_def<CenterCropSpec, CenterCrop>(size_schema<CenterCropSpec>(
    "CenterCrop", "crops the center; a smaller image is resized as by `Resizing` with `crop_to_aspect_ratio`"));

class RandomCrop final : public FixedSizeTransform {
 public:
  explicit RandomCrop(const RandomCropSpec& spec)
      : FixedSizeTransform({.height = spec.height, .width = spec.width}), padding_(spec.padding) {}

  bool random() const override { return true; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return write_crop(size().height, size().width, padding_, true, op), true;
  }

 private:
  Cut draw(const Shape& image, const DrawKey& key, std::uint32_t index) const override {
    const std::int64_t down = image[0] + 2 * padding_ - size().height, right = image[1] + 2 * padding_ - size().width;
    if (down < 0 || right < 0) return centred_cut(image);
    RandomStream stream = draws(key, index);
    const std::int64_t top = offset(stream, down), left = offset(stream, right);
    return {.window = {top - padding_, left - padding_, size().height, size().width}, .resized = false};
  }

  std::int64_t padding_;
};

const RegisteredTransform kRandomCrop = transform_def<RandomCropSpec, RandomCrop>(
    size_schema<RandomCropSpec>("RandomCrop", "crops a random part; a smaller image is resized as by `CenterCrop`")
        .key(key("padding", &RandomCropSpec::padding)
                 .at_least(0)
                 .doc("zeros that are added on every side before the crop")));

class RandomResizedCrop final : public FixedSizeTransform {
 public:
  explicit RandomResizedCrop(const RandomResizedCropSpec& spec)
      : FixedSizeTransform({spec.height, spec.width, spec.interpolation, spec.antialias}), spec_(spec) {}

  bool random() const override { return true; }

 private:
  /// torchvision/transforms/transforms.py, RandomResizedCrop.get_params: ten draws, then the center.
  Cut draw(const Shape& image, const DrawKey& key, std::uint32_t index) const override {
    constexpr int kTries = 10;
    const auto height = static_cast<double>(image[0]), width = static_cast<double>(image[1]);
    RandomStream stream = draws(key, index);
    for (int i = 0; i < kTries; ++i) {
      const auto area = height * width * static_cast<double>(uniform(stream, spec_.scale[0], spec_.scale[1]));
      const auto ratio =
          std::exp(static_cast<double>(uniform(stream, std::log(spec_.ratio[0]), std::log(spec_.ratio[1]))));
      const auto w = std::llround(std::sqrt(area * ratio)), h = std::llround(std::sqrt(area / ratio));
      if (w < 1 || h < 1 || w > image[1] || h > image[0]) continue;
      const std::int64_t top = offset(stream, image[0] - h), left = offset(stream, image[1] - w);
      return {{top, left, h, w}};
    }
    Window window = whole(image);
    const double ratio = std::clamp(width / height, spec_.ratio[0], spec_.ratio[1]);
    if (width / height < ratio) window.height = std::clamp<std::int64_t>(std::llround(width / ratio), 1, image[0]);
    if (width / height > ratio) window.width = std::clamp<std::int64_t>(std::llround(height * ratio), 1, image[1]);
    window.top = (image[0] - window.height) / 2;
    window.left = (image[1] - window.width) / 2;
    return {window};
  }

  RandomResizedCropSpec spec_;
};

std::string check_pair(const std::vector<double>& pair) {
  return pair.size() == 2 && pair[0] <= pair[1] ? "" : "must be [lower, upper]";
}

const RegisteredTransform kRandomResizedCrop = transform_def<RandomResizedCropSpec, RandomResizedCrop>(
    size_schema<RandomResizedCropSpec>("RandomResizedCrop", "crops a random part and resizes it, as torchvision")
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

class Resizing final : public FixedSizeTransform {
 public:
  explicit Resizing(const ResizingSpec& spec)
      : FixedSizeTransform({spec.height, spec.width, spec.interpolation, spec.antialias}),
        crop_(spec.crop_to_aspect_ratio),
        scaled_decode_(spec.scaled_decode) {}

  std::optional<formats::ImageStep> image_step() const override {
    using Filter = formats::ResizeImage::Filter;
    const bool nearest = size().interpolation == Interpolation::kNearest;
    return formats::ResizeImage{.height = size().height,
                                .width = size().width,
                                .filter = nearest            ? Filter::kNearest
                                          : size().antialias ? Filter::kTriangle
                                                             : Filter::kBilinear,
                                .crop_to_aspect_ratio = crop_};
  }
  ReadHint hint() const override {
    return scaled_decode_ ? ReadHint{.min_height = size().height, .min_width = size().width} : ReadHint{};
  }

 private:
  Cut draw(const Shape& image, const DrawKey&, std::uint32_t) const override {
    return crop_ ? centred_cut(image) : Cut{whole(image)};
  }

  bool crop_, scaled_decode_;
};

std::string check_antialias(const ResizingSpec& spec) {
  return spec.antialias && spec.interpolation == Interpolation::kNearest
             ? "antialias needs interpolation: bilinear, found nearest"
             : "";
}

const RegisteredTransform kResizing = transform_def<ResizingSpec, Resizing>(
    size_schema<ResizingSpec>("Resizing", "resizes images and frames")
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
