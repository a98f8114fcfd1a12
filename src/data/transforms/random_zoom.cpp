#include "data/transforms/random_zoom.h"

#include "data/transforms/draws.h"

namespace dptrain::data {
namespace {

class RandomZoom final : public RandomWarp {
 public:
  explicit RandomZoom(const RandomZoomSpec& spec)
      : RandomWarp(spec),
        height_(factor_range(spec.height_factor)),
        width_(spec.width_factor.empty() ? height_ : factor_range(spec.width_factor)),
        alike_(spec.width_factor.empty()) {}

 protected:
  /// keras/src/nn/preprocessing/image_preprocessing/random_zoom.py, _get_zoom_matrix.
  WarpMatrix draw(RandomStream& stream, double height, double width) const override {
    const auto factor = [&](const std::pair<double, double>& range) {
      return static_cast<double>(uniform(stream, 1 + range.first, 1 + range.second));
    };
    const double down = factor(height_), right = alike_ ? down : factor(width_);
    return {right, 0, (width - 1) / 2 * (1 - right), 0, down, (height - 1) / 2 * (1 - down)};
  }

 private:
  std::pair<double, double> height_, width_;
  bool alike_;
};

std::string check_or_none(const std::vector<double>& factor) { return factor.empty() ? "" : check_factor(factor); }

const RegisteredTransform kRandomZoom = transform_def<RandomZoomSpec, RandomZoom>(
    with_warp_keys<RandomZoomSpec>(config::Schema::of<RandomZoomSpec>("RandomZoom")
                                       .positional(key("height_factor", &RandomZoomSpec::height_factor)
                                                       .required()
                                                       .above(-1)
                                                       .at_most(1)
                                                       .check(check_factor)
                                                       .doc("share of the height, or [smallest, largest]"))
                                       .key(key("width_factor", &RandomZoomSpec::width_factor)
                                                .above(-1)
                                                .at_most(1)
                                                .check(check_or_none)
                                                .doc("absent: the same zoom as for the height"))));

}  // namespace

}  // namespace dptrain::data
