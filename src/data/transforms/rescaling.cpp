#include "data/transforms/rescaling.h"

#include <cmath>

#include "data/transforms/pixel_op.h"
#include "data/transforms/transform_def.h"

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
  bool expects_pixels() const override { return std::fabs(static_cast<double>(map_.scale[0])) <= kLargestPixelScale; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override { return write_affine(map_, op); }

 private:
  ChannelMap map_;
};

const RegisteredTransform kRescaling = transform_def<RescalingSpec, Rescaling>(
    config::Schema::of<RescalingSpec>("Rescaling")
        .positional(key("scale", &RescalingSpec::scale).required().doc("factor, one value or one for each channel"))
        .key(key("offset", &RescalingSpec::offset).doc("added after the scaling, one value or one for each channel")));

}  // namespace

}  // namespace dptrain::data
