#include "data/transforms/random_contrast.h"

#include "data/transforms/draws.h"
#include "data/transforms/pixel_op.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomContrast final : public Transform {
 public:
  explicit RandomContrast(const RandomContrastSpec& spec)
      : low_(1 - spec.factor.front()), high_(1 + spec.factor.back()), range_(spec.value_range) {}

  bool random() const override { return true; }
  Shape output(const Shape& input) const override {
    if (input.rank() > 0) check_image(input);
    return input;
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    copy_floats(in, out);
    RandomStream stream = draws(key, index);
    const float contrast = uniform(stream, low_, high_);
    const auto channels = static_cast<std::size_t>(in.shape[2]);
    const auto pixels = static_cast<double>(in.shape[0] * in.shape[1]);
    std::vector<double> sums(channels);
    for (std::size_t i = 0; i < out.f32.size(); i += channels) {
      for (std::size_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(out.f32[i + c]);
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const auto mean = static_cast<float>(sums[c] / pixels);
      for (std::size_t i = c; i < out.f32.size(); i += channels) out.f32[i] = (out.f32[i] - mean) * contrast + mean;
    }
    clip(out.f32, range_);
  }
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  bool write_op(std::int32_t channels, kernels::PixelOp& op) const override {
    op.kind = kernels::PixelOpKind::kContrast;
    write_range(low_, high_, range_, op);
    return channels <= kernels::kMaxPixelChannels;
  }

 private:
  double low_, high_;
  std::vector<double> range_;
};

std::string check_contrast(const std::vector<double>& factor) {
  return factor.size() == 1 || factor.size() == 2 ? "" : "must be one number or [lower, upper]";
}

const RegisteredTransform kRandomContrast =
    transform_def<RandomContrastSpec, RandomContrast>(config::Schema::of<RandomContrastSpec>("RandomContrast")
                                                          .positional(key("factor", &RandomContrastSpec::factor)
                                                                          .required()
                                                                          .at_least(0)
                                                                          .at_most(1)
                                                                          .check(check_contrast)
                                                                          .doc("range of the contrast"))
                                                          .key(key("value_range", &RandomContrastSpec::value_range)
                                                                   .check(check_range)
                                                                   .doc("[smallest, largest] value of a pixel")));

}  // namespace

}  // namespace dptrain::data
