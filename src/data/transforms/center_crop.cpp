#include "data/transforms/center_crop.h"

#include "data/transforms/pixel_op.h"
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
  std::optional<exporting::ImageStep> image_step() const override {
    return exporting::CropCentre{.height = spec_.height, .width = spec_.width};
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
        .key(key("height", &CenterCropSpec::height).required().at_least(1).doc("rows of the result"))
        .key(key("width", &CenterCropSpec::width).required().at_least(1).doc("columns of the result")));

}  // namespace

}  // namespace dptrain::data
