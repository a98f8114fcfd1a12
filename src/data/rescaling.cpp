#include "data/transforms.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::data {
namespace {

class Rescaling final : public Transform {
 public:
  explicit Rescaling(const RescalingSpec& spec)
      : scale_(static_cast<float>(spec.scale)), offset_(static_cast<float>(spec.offset)) {}

  bool takes_u8() const override { return true; }
  Shape output(const Shape& input) const override { return input; }
  void apply(Array& image, Array&, const DrawKey&, std::uint32_t) const override {
    if (image.type == DType::kU8) {
      image.f32.resize(image.u8.size());
      kernels::cpu::u8_to_f32(image.u8.data(), scale_, offset_, image.f32.data(),
                              static_cast<std::int64_t>(image.u8.size()));
      image.type = DType::kF32;
    } else {
      kernels::cpu::scale_offset(image.f32.data(), scale_, offset_, image.f32.data(),
                                 static_cast<std::int64_t>(image.f32.size()));
    }
  }
  std::optional<std::pair<float, float>> affine() const override { return std::pair{scale_, offset_}; }

 private:
  float scale_, offset_;
};

}  // namespace

std::unique_ptr<config::TypeDef> rescaling_def() {
  using config::key;
  return transform_def<RescalingSpec, Rescaling>(config::Schema::of<RescalingSpec>("Rescaling")
                                                     .positional(key("scale", &RescalingSpec::scale).required())
                                                     .key(key("offset", &RescalingSpec::offset)));
}

}  // namespace dptrain::data
