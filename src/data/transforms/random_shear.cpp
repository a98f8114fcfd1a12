// keras/src/nn/preprocessing/image_preprocessing/random_shear.py

#include "data/transforms/random_shear.h"

#include "data/transforms/draws.h"

namespace dptrain::data {
namespace {

class RandomShear final : public RandomWarp {
 public:
  explicit RandomShear(const RandomShearSpec& spec)
      : RandomWarp(spec), x_(factor_range(spec.x_factor)), y_(factor_range(spec.y_factor)) {}

 protected:
  WarpMatrix draw(RandomStream& stream, double, double) const override {
    const double sign = stream.uniform() > 0.5F ? -1 : 1;
    const auto y = static_cast<double>(uniform(stream, y_.first, y_.second));
    const auto x = static_cast<double>(uniform(stream, x_.first, x_.second));
    return shear_matrix(sign * x, sign * y);
  }

 private:
  std::pair<double, double> x_, y_;
};

const RegisteredTransform kRandomShear = transform_def<RandomShearSpec, RandomShear>(with_warp_keys<RandomShearSpec>(
    config::Schema::of<RandomShearSpec>("RandomShear")
        .key(key("x_factor", &RandomShearSpec::x_factor)
                 .at_least(0)
                 .at_most(1)
                 .check(check_factor)
                 .doc("how far columns move for each row down: f for [-f, f], or [lower, upper]"))
        .key(key("y_factor", &RandomShearSpec::y_factor)
                 .at_least(0)
                 .at_most(1)
                 .check(check_factor)
                 .doc("how far rows move for each column to the right: f for [-f, f], or [lower, upper]"))));

}  // namespace

WarpMatrix shear_matrix(double x, double y) { return {1, x, 0, y, 1, 0}; }

}  // namespace dptrain::data
