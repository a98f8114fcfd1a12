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
/// Mirrors along each direction with probability 1/2, independently.
struct RandomFlipSpec {
  FlipMode mode = FlipMode::kHorizontalAndVertical;
};

/// Common arguments of the transforms that warp.
struct WarpArguments {
  FillMode fill_mode = FillMode::kReflect;
  Interpolation interpolation = Interpolation::kBilinear;
  double fill_value = 0;
};

/// The two rows of the matrix that maps a position (x, y, 1) of the result to a position of the image.
using WarpMatrix = std::array<double, 6>;

/// Base class of the transforms that warp an image by a random matrix. Immutable; any thread.
class RandomWarp : public Transform {
 public:
  explicit RandomWarp(const WarpArguments& arguments);

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  Shape output(const Shape& input) const override;
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override;
  void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array& spare,
             float* out) const override;
  void apply_to_map(const ImageView& in, float fill, Array& out, const DrawKey& key,
                    std::uint32_t index) const override;

 protected:
  virtual WarpMatrix draw(RandomStream& stream, double height, double width) const = 0;

 private:
  void warp(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, kernels::cpu::Warp warp,
            float* out) const;

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

/// Rotates by a fraction of a full turn, uniform in [-factor, factor] or [lower, upper], with Keras's direction.
struct RandomRotationSpec : WarpArguments {
  std::vector<double> factor;
};

/// Shifts by fractions of height and width, positive ones down and to the right.
struct RandomTranslationSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};

/// Zooms the height by 1 + f, f uniform in [-factor, factor] or [lower, upper]; positive f zoom out. The width uses the
/// same f unless width_factor is set.
struct RandomZoomSpec : WarpArguments {
  std::vector<double> height_factor, width_factor;
};

/// Shifts columns by x_factor times the row, and rows by y_factor times the column, from the upper left corner. Both
/// factors are uniform in [-f, f] or [lower, upper], and change their sign together with probability 1/2.
struct RandomShearSpec : WarpArguments {
  std::vector<double> x_factor{0}, y_factor{0};
};
WarpMatrix shear_matrix(double x, double y);

}  // namespace dptrain::data
