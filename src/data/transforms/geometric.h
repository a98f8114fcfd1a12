#pragma once

#include <array>
#include <vector>

#include "core/random.h"
#include "data/images/image_resize.h"
#include "data/transforms/transform_def.h"
#include "kernels/cpu/warp.h"

namespace dptrain::data {
enum class FillMode { kReflect, kWrap, kConstant, kNearest };
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

enum class FlipMode { kHorizontal, kVertical, kHorizontalAndVertical };
/// Each direction with probability 1/2, independently.
struct RandomFlipSpec {
  FlipMode mode = FlipMode::kHorizontalAndVertical;
};

/// The arguments of all transforms that warp.
struct WarpArguments {
  FillMode fill_mode = FillMode::kReflect;
  Interpolation interpolation = Interpolation::kBilinear;
  double fill_value = 0;
};

/// Rows of the matrix that takes a place (x, y, 1) of the result to one of the image.
using WarpMatrix = std::array<double, 6>;

/// Base of the transforms that warp an image: they differ in the matrix that they draw. Immutable; any thread.
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

/// Adds the keys of WarpArguments.
template <class Spec>
config::Schema with_warp_keys(config::Schema schema) {
  schema.add(key("fill_mode", &WarpArguments::fill_mode).doc("values outside of the image").template field<Spec>());
  schema.add(key("interpolation", &WarpArguments::interpolation)
                 .doc("how values between pixels are computed")
                 .template field<Spec>());
  schema.add(key("fill_value", &WarpArguments::fill_value)
                 .doc("value outside of the image with fill_mode: constant")
                 .template field<Spec>());
  return schema;
}

/// By a fraction of a full turn, uniform in [-factor, factor] or [lower, upper]; positive ones as Keras turns.
struct RandomRotationSpec : WarpArguments {
  std::vector<double> factor;
};

/// By fractions of height and width; positive ones down and to the right.
struct RandomTranslationSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};

/// Heights by 1 + f, f uniform in [-factor, factor] or [lower, upper]: positive ones zoom out. Widths by the same
/// number, or by one of their own.
struct RandomZoomSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};

/// Columns moved by x_factor times their row, rows by y_factor times their column, from the upper left corner. Each is
/// uniform in [-f, f] or [lower, upper], and both turn their sign with probability 1/2.
struct RandomShearSpec : WarpArguments {
  std::vector<double> x_factor{0}, y_factor{0};
};
/// The matrix of what is drawn.
WarpMatrix shear_matrix(double x, double y);

}  // namespace dptrain::data
