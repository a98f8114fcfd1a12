#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "data/transforms.h"

namespace dptrain::data {
namespace {

/// keras/src/layers/preprocessing/normalization.py: backend.epsilon() under the root's result.
constexpr double kSmallestDeviation = 1e-7;

class Normalization final : public Transform {
 public:
  explicit Normalization(const NormalizationSpec& spec) {
    const std::size_t channels = std::max(spec.mean.size(), spec.variance.size());
    for (std::size_t c = 0; c < channels; ++c) {
      const double mean = spec.mean[spec.mean.size() == 1 ? 0 : c];
      const double variance = spec.variance[spec.variance.size() == 1 ? 0 : c];
      const double scale = 1 / std::max(std::sqrt(variance), kSmallestDeviation);
      scale_.push_back(static_cast<float>(scale));
      offset_.push_back(static_cast<float>(-mean * scale));
    }
  }

  Shape output(const Shape& input) const override {
    const auto channels = static_cast<std::int64_t>(scale_.size());
    if (input.rank() > 0 && channels > 1 && input.back() != channels)
      throw Error(ErrorKind::kUsage,
                  fmt::format("mean and variance are for {} channels, but samples are {}", channels, input.str()));
    return input;
  }
  void apply(Array& image, Array&, const DrawKey&, std::uint32_t) const override {
    const std::size_t channels = scale_.size();
    for (std::size_t i = 0; i < image.f32.size(); ++i)
      image.f32[i] = image.f32[i] * scale_[i % channels] + offset_[i % channels];
  }
  std::optional<std::pair<float, float>> affine() const override {
    if (scale_.size() != 1) return std::nullopt;
    return std::pair{scale_[0], offset_[0]};
  }

 private:
  std::vector<float> scale_, offset_;
};

std::string check_lists(const NormalizationSpec& spec) {
  if (spec.mean.empty() || spec.variance.empty()) return "mean and variance need at least one value each";
  if (spec.mean.size() != 1 && spec.variance.size() != 1 && spec.mean.size() != spec.variance.size())
    return fmt::format("mean has {} values, variance {}; expected as many", spec.mean.size(), spec.variance.size());
  return "";
}

}  // namespace

std::unique_ptr<config::TypeDef> normalization_def() {
  using config::key;
  return transform_def<NormalizationSpec, Normalization>(
      config::Schema::of<NormalizationSpec>("Normalization")
          .key(key("axis", &NormalizationSpec::axis).check([](const std::int64_t& axis) {
            return axis == -1 ? std::string() : fmt::format("must be -1, the channels, found {}", axis);
          }))
          .key(key("mean", &NormalizationSpec::mean).required())
          .key(key("variance", &NormalizationSpec::variance).required().at_least(0))
          .rule<NormalizationSpec>(check_lists));
}

}  // namespace dptrain::data
