#include "data/transforms/random_translation.h"

#include "data/transforms/draws.h"

namespace dptrain::data {
namespace {

class RandomTranslation final : public RandomWarp {
 public:
  explicit RandomTranslation(const RandomTranslationSpec& spec)
      : RandomWarp(spec), height_(factor_range(spec.height_factor)), width_(factor_range(spec.width_factor)) {}

 protected:
  WarpMatrix draw(RandomStream& stream, double height, double width) const override {
    const double down = height * static_cast<double>(uniform(stream, height_.first, height_.second));
    const double right = width * static_cast<double>(uniform(stream, width_.first, width_.second));
    return {1, 0, -right, 0, 1, -down};
  }

 private:
  std::pair<double, double> height_, width_;
};

const RegisteredTransform kRandomTranslation = transform_def<RandomTranslationSpec, RandomTranslation>(
    with_warp_keys<RandomTranslationSpec>(config::Schema::of<RandomTranslationSpec>("RandomTranslation")
                                              .key(key("height_factor", &RandomTranslationSpec::height_factor)
                                                       .required()
                                                       .at_least(-1)
                                                       .at_most(1)
                                                       .check(check_factor)
                                                       .doc("share of the height, or [smallest, largest]"))
                                              .key(key("width_factor", &RandomTranslationSpec::width_factor)
                                                       .required()
                                                       .at_least(-1)
                                                       .at_most(1)
                                                       .check(check_factor)
                                                       .doc("share of the width, or [smallest, largest]"))));

}  // namespace

}  // namespace dptrain::data
