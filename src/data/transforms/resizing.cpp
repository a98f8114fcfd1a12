#include "data/transforms/resizing.h"

#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

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
  std::optional<exporting::ImageStep> image_step() const override {
    using Filter = exporting::ResizeImage::Filter;
    const bool nearest = resize_.interpolation == Interpolation::kNearest;
    return exporting::ResizeImage{.height = resize_.height,
                                  .width = resize_.width,
                                  .filter = nearest             ? Filter::kNearest
                                            : resize_.antialias ? Filter::kTriangle
                                                                : Filter::kBilinear,
                                  .crop_to_aspect_ratio = crop_};
  }
  ReadHint hint() const override {
    return scaled_decode_ ? ReadHint{.least_height = resize_.height, .least_width = resize_.width} : ReadHint{};
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
        .key(key("height", &ResizingSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &ResizingSpec::width).required().at_least(1).doc("columns of the result"))
        .key(key("interpolation", &ResizingSpec::interpolation).doc("how values between pixels are computed"))
        .key(key("crop_to_aspect_ratio", &ResizingSpec::crop_to_aspect_ratio)
                 .doc("cut the sides off instead of distorting"))
        .key(key("antialias", &ResizingSpec::antialias)
                 .doc("a wider filter where the image shrinks, as tf.image.resize has it"))
        .key(key("scaled_decode", &ResizingSpec::scaled_decode)
                 .doc("JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size where that is not below height x width: "
                      "faster, other pixels; the first transform only"))
        .rule<ResizingSpec>(check_antialias));

}  // namespace

}  // namespace dptrain::data
