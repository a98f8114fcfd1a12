#include "data/transforms/normalization.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/quantity.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::config {
template <>
struct EnumNames<data::PreprocessMode> {
  static constexpr std::array names{std::pair{data::PreprocessMode::kCaffe, "caffe"},
                                    std::pair{data::PreprocessMode::kTf, "tf"},
                                    std::pair{data::PreprocessMode::kTorch, "torch"}};
};
}  // namespace dptrain::config

namespace dptrain::data {
namespace {

/// Base class of transforms that only map channels.
class ChannelTransform : public Transform {
 public:
  Shape output(const Shape& input) const final { return map_.check(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const final { map_image(in, map_, out); }
  std::optional<ChannelMap> channel_map() const final { return map_; }

 protected:
  explicit ChannelTransform(ChannelMap map) : map_(std::move(map)) {}
  const ChannelMap& map() const { return map_; }

 private:
  ChannelMap map_;
};

/// backend.epsilon() in keras/src/layers/preprocessing/normalization.py.
constexpr double kSmallestDeviation = 1e-7;

ChannelMap map_of(const NormalizationSpec& spec) {
  const std::size_t channels = std::max(spec.mean.size(), spec.variance.size());
  ChannelMap map{.scale = std::vector<float>(channels), .offset = std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = spec.mean[spec.mean.size() == 1 ? 0 : c];
    const double variance = spec.variance[spec.variance.size() == 1 ? 0 : c];
    const double scale = 1 / std::max(std::sqrt(variance), kSmallestDeviation);
    map.scale[c] = static_cast<float>(scale);
    map.offset[c] = static_cast<float>(-mean * scale);
  }
  return map;
}

class Normalization final : public ChannelTransform {
 public:
  explicit Normalization(const NormalizationSpec& spec) : ChannelTransform(map_of(spec)) {}

  bool expects_pixels() const override { return static_cast<double>(map().scale[0]) <= kLargestPixelScale; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override { return write_affine(map(), op); }
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
        .doc("`(x - mean) / max(sqrt(variance), 1e-7)`")
        .key(key("axis", &NormalizationSpec::axis)
                 .check([](const std::int64_t& axis) {
                   return axis == -1 ? std::string() : fmt::format("must be -1, the channels, found {}", axis);
                 })
                 .doc("only the last axis, -1"))
        .key(key("mean", &NormalizationSpec::mean).required().doc("one value, or one for each channel"))
        .key(key("variance", &NormalizationSpec::variance)
                 .required()
                 .at_least(0)
                 .doc("one value, or one for each channel"))
        .rule<NormalizationSpec>(check_lists));

class PerImageStandardization final : public Transform {
 public:
  explicit PerImageStandardization(const PerImageStandardizationSpec&) {}

  Shape output(const Shape& input) const override { return input; }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    copy_floats(in, out);
    const auto elements = static_cast<double>(out.f32.size());
    double sum = 0, squares = 0;
    for (const float x : out.f32) sum += static_cast<double>(x);
    const double mean = sum / elements;
    for (const float x : out.f32) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
    const double scale = 1 / std::max(std::sqrt(squares / elements), 1 / std::sqrt(elements));
    for (float& x : out.f32) x = static_cast<float>((static_cast<double>(x) - mean) * scale);
  }
  std::optional<formats::ImageStep> image_step() const override { return formats::StandardizeImage{}; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return op.kind = kernels::PixelOpKind::kStandardize, true;
  }
};

const RegisteredTransform kPerImageStandardization =
    transform_def<PerImageStandardizationSpec, PerImageStandardization>(
        config::Schema::of<PerImageStandardizationSpec>("PerImageStandardization")
            .doc("`(x - mean) / max(stddev, 1 / sqrt(elements))` over an image or frame"));

/// keras/src/applications/imagenet_utils.py, _preprocess_numpy_input.
ChannelMap map_of(PreprocessMode mode) {
  if (mode == PreprocessMode::kTf) return {.scale = {1 / 127.5F}, .offset = {-1.0F}};
  if (mode == PreprocessMode::kCaffe)  // converts to BGR, then subtracts means
    return {.scale = {1.0F, 1.0F, 1.0F}, .offset = {-103.939F, -116.779F, -123.68F}, .reverse = true};
  constexpr double kMean[] = {0.485, 0.456, 0.406}, kDeviation[] = {0.229, 0.224, 0.225};
  ChannelMap map{.scale = {}, .offset = {}};
  for (int c = 0; c < 3; ++c) {
    map.scale.push_back(static_cast<float>(1 / (255 * kDeviation[c])));
    map.offset.push_back(static_cast<float>(-kMean[c] / kDeviation[c]));
  }
  return map;
}

class PreprocessInput final : public ChannelTransform {
 public:
  explicit PreprocessInput(const PreprocessInputSpec& spec) : ChannelTransform(map_of(spec.mode)) {}

  bool expects_pixels() const override { return true; }
};

const RegisteredTransform kPreprocessInput = transform_def<PreprocessInputSpec, PreprocessInput>(
    config::Schema::of<PreprocessInputSpec>("PreprocessInput")
        .doc("preprocessing of the networks of `keras.applications`")
        .positional(key("mode", &PreprocessInputSpec::mode)
                        .required()
                        .doc("caffe: BGR less the means of ImageNet; tf: -1..1; torch: 0..1, normalized")));

class Rescaling final : public ChannelTransform {
 public:
  explicit Rescaling(const RescalingSpec& spec)
      : ChannelTransform({.scale = {static_cast<float>(spec.scale)}, .offset = {static_cast<float>(spec.offset)}}) {}

  bool expects_pixels() const override { return std::fabs(static_cast<double>(map().scale[0])) <= kLargestPixelScale; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override { return write_affine(map(), op); }
};

const RegisteredTransform kRescaling = transform_def<RescalingSpec, Rescaling>(
    config::Schema::of<RescalingSpec>("Rescaling")
        .doc("`x * scale + offset`")
        .positional(key("scale", &RescalingSpec::scale).required().doc("factor of all channels"))
        .key(key("offset", &RescalingSpec::offset).doc("added to all channels after the scaling")));

}  // namespace
}  // namespace dptrain::data
