#pragma once

// What the transforms that warp an image share: they differ in the matrix that they draw. Immutable; any thread.

#include <array>

#include "core/random.h"
#include "data/images/image_resize.h"
#include "data/transforms/transform_def.h"
#include "kernels/cpu/warp.h"

namespace dptrain::data {

enum class FillMode { kReflect, kWrap, kConstant, kNearest };
/// The arguments that all of them have.
struct WarpArguments {
  FillMode fill_mode = FillMode::kReflect;
  Interpolation interpolation = Interpolation::kBilinear;
  double fill_value = 0;
};

/// Rows of the matrix that takes a place (x, y, 1) of the result to one of the image.
using WarpMatrix = std::array<double, 6>;

class RandomWarp : public Transform {
 public:
  explicit RandomWarp(const WarpArguments& arguments);

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  Shape output(const Shape& input) const override;
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override;
  void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array& spare,
             float* out) const override;

 protected:
  virtual WarpMatrix draw(RandomStream& stream, double height, double width) const = 0;

 private:
  kernels::cpu::Warp warp_{};
};

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::FillMode> {
  static constexpr std::array names{
      std::pair{data::FillMode::kReflect, "reflect"}, std::pair{data::FillMode::kWrap, "wrap"},
      std::pair{data::FillMode::kConstant, "constant"}, std::pair{data::FillMode::kNearest, "nearest"}};
};
}  // namespace dptrain::config

namespace dptrain::data {

/// Adds the keys of WarpArguments.
template <class Spec>
config::Schema with_warp_keys(config::Schema schema) {
  schema.key(key("fill_mode", static_cast<FillMode Spec::*>(&WarpArguments::fill_mode)).doc("what lies outside"));
  schema.key(key("interpolation", static_cast<Interpolation Spec::*>(&WarpArguments::interpolation))
                 .doc("how values between pixels are computed"));
  schema.key(key("fill_value", static_cast<double Spec::*>(&WarpArguments::fill_value)).doc("of fill_mode: constant"));
  return schema;
}

}  // namespace dptrain::data
