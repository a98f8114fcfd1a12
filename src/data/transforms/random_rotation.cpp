#include "data/transforms/random_rotation.h"

#include <cmath>
#include <numbers>

#include "data/transforms/draws.h"

namespace dptrain::data {
namespace {

class RandomRotation final : public RandomWarp {
 public:
  explicit RandomRotation(const RandomRotationSpec& spec) : RandomWarp(spec), factor_(factor_range(spec.factor)) {}

 protected:
  /// Around the middle; keras/src/nn/preprocessing/image_preprocessing/base_image_preprocessing_layer.py,
  /// _compute_affine_matrix.
  WarpMatrix draw(RandomStream& stream, double height, double width) const override {
    const double angle = 2 * std::numbers::pi * static_cast<double>(uniform(stream, factor_.first, factor_.second));
    const double c = std::cos(angle), s = std::sin(angle), x = (width - 1) / 2, y = (height - 1) / 2;
    return {c, -s, x - x * c + y * s, s, c, y - x * s - y * c};
  }

 private:
  std::pair<double, double> factor_;
};

const RegisteredTransform kRandomRotation = transform_def<RandomRotationSpec, RandomRotation>(
    with_warp_keys<RandomRotationSpec>(config::Schema::of<RandomRotationSpec>("RandomRotation")
                                           .positional(key("factor", &RandomRotationSpec::factor)
                                                           .required()
                                                           .at_least(-1)
                                                           .at_most(1)
                                                           .check(check_factor)
                                                           .doc("of a turn"))));

}  // namespace

}  // namespace dptrain::data
