#include "data/transforms/transforms.h"

namespace dptrain::data {
namespace {

class Rescaling final : public Transform {
 public:
  explicit Rescaling(const RescalingSpec& spec)
      : map_{.scale = {static_cast<float>(spec.scale)}, .offset = {static_cast<float>(spec.offset)}} {}

  Shape output(const Shape& input) const override { return input; }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    map_image(in, map_, out);
  }
  std::optional<ChannelMap> channel_map() const override { return map_; }

 private:
  ChannelMap map_;
};

}  // namespace

std::unique_ptr<config::TypeDef> rescaling_def() {
  using config::key;
  return transform_def<RescalingSpec, Rescaling>(config::Schema::of<RescalingSpec>("Rescaling")
                                                     .positional(key("scale", &RescalingSpec::scale).required())
                                                     .key(key("offset", &RescalingSpec::offset)));
}

}  // namespace dptrain::data
