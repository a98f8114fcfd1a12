#include "data/transforms/preprocess_input.h"

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

/// keras/src/applications/imagenet_utils.py, _preprocess_numpy_input.
ChannelMap map_of(PreprocessMode mode) {
  if (mode == PreprocessMode::kTf) return {.scale = {1 / 127.5F}, .offset = {-1.0F}};
  if (mode == PreprocessMode::kCaffe)  // to BGR, then the means
    return {.scale = {1.0F, 1.0F, 1.0F}, .offset = {-103.939F, -116.779F, -123.68F}, .reverse = true};
  constexpr double kMean[] = {0.485, 0.456, 0.406}, kDeviation[] = {0.229, 0.224, 0.225};
  ChannelMap map{.scale = {}, .offset = {}};
  for (int c = 0; c < 3; ++c) {
    map.scale.push_back(static_cast<float>(1 / (255 * kDeviation[c])));
    map.offset.push_back(static_cast<float>(-kMean[c] / kDeviation[c]));
  }
  return map;
}

class PreprocessInput final : public Transform {
 public:
  explicit PreprocessInput(const PreprocessInputSpec& spec) : map_(map_of(spec.mode)) {}

  Shape output(const Shape& input) const override {
    map_.check(input);
    return input;
  }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    map_image(in, map_, out);
  }
  std::optional<ChannelMap> channel_map() const override { return map_; }
  bool expects_pixels() const override { return true; }

 private:
  ChannelMap map_;
};

const RegisteredTransform kPreprocessInput = transform_def<PreprocessInputSpec, PreprocessInput>(
    config::Schema::of<PreprocessInputSpec>("PreprocessInput")
        .positional(key("mode", &PreprocessInputSpec::mode)
                        .required()
                        .doc("caffe: BGR less the means of ImageNet; tf: -1..1; torch: 0..1, normalised")));

}  // namespace

}  // namespace dptrain::data
