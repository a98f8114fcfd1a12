#include "data/transforms/normalization.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/quantity.h"
#include "data/transforms/pixel_op.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

/// keras/src/nn/preprocessing/normalization.py: backend.epsilon() under the root's result.
constexpr double kSmallestDeviation = 1e-7;

class Normalization final : public Transform {
 public:
  explicit Normalization(const NormalizationSpec& spec) {
    const std::size_t channels = std::max(spec.mean.size(), spec.variance.size());
    map_ = {.scale = std::vector<float>(channels), .offset = std::vector<float>(channels)};
    for (std::size_t c = 0; c < channels; ++c) {
      const double mean = spec.mean[spec.mean.size() == 1 ? 0 : c];
      const double variance = spec.variance[spec.variance.size() == 1 ? 0 : c];
      const double scale = 1 / std::max(std::sqrt(variance), kSmallestDeviation);
      map_.scale[c] = static_cast<float>(scale);
      map_.offset[c] = static_cast<float>(-mean * scale);
    }
  }

  Shape output(const Shape& input) const override {
    map_.check(input);
    return input;
  }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    map_image(in, map_, out);
  }
  std::optional<ChannelMap> channel_map() const override { return map_; }
  bool expects_pixels() const override { return static_cast<double>(map_.scale[0]) <= kLargestPixelScale; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override { return write_affine(map_, op); }

 private:
  ChannelMap map_;
};

std::string check_lists(const NormalizationSpec& spec) {
  if (spec.mean.empty() || spec.variance.empty()) return "mean and variance need at least one value each";
  if (spec.mean.size() != 1 && spec.variance.size() != 1 && spec.mean.size() != spec.variance.size())
    return fmt::format("mean has {} and variance {}, expected the same number", counted(spec.mean.size(), "value"),
                       spec.variance.size());
  return "";
}

const RegisteredTransform kNormalization = transform_def<NormalizationSpec, Normalization>(
    config::Schema::of<NormalizationSpec>("Normalization")
        .key(key("axis", &NormalizationSpec::axis)
                 .check([](const std::int64_t& axis) {
                   return axis == -1 ? std::string() : fmt::format("must be -1, the channels, found {}", axis);
                 })
                 .doc("only the last axis, -1"))
        .key(key("mean", &NormalizationSpec::mean).required().doc("mean, one value or one for each channel"))
        .key(key("variance", &NormalizationSpec::variance)
                 .required()
                 .at_least(0)
                 .doc("variance, one value or one for each channel"))
        .rule<NormalizationSpec>(check_lists));

}  // namespace

}  // namespace dptrain::data
