#include "core/error.h"
#include "core/format.h"
#include "data/transforms.h"

namespace dptrain::data {
namespace {

class CenterCrop final : public Transform {
 public:
  explicit CenterCrop(const CenterCropSpec& spec) : spec_(spec) {}

  bool takes_u8() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return {};
    check_image(input);
    if (input[0] < spec_.height || input[1] < spec_.width)
      throw Error(ErrorKind::kUsage,
                  fmt::format("samples of {} are smaller than the crop {}x{}", input.str(), spec_.height, spec_.width));
    return {spec_.height, spec_.width, input[2]};
  }
  void apply(Array& image, Array& spare, const DrawKey&, std::uint32_t) const override {
    static_cast<void>(output(image.shape));
    crop(image, spare, (image.shape[0] - spec_.height) / 2, (image.shape[1] - spec_.width) / 2, spec_.height,
         spec_.width);
  }

 private:
  CenterCropSpec spec_;
};

}  // namespace

std::unique_ptr<config::TypeDef> center_crop_def() {
  using config::key;
  return transform_def<CenterCropSpec, CenterCrop>(
      config::Schema::of<CenterCropSpec>("CenterCrop")
          .key(key("height", &CenterCropSpec::height).required().at_least(1))
          .key(key("width", &CenterCropSpec::width).required().at_least(1)));
}

}  // namespace dptrain::data
