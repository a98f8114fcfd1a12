#include "data/transforms/pixel_op.h"

#include <algorithm>

namespace dptrain::data {

bool write_affine(const ChannelMap& map, kernels::PixelOp& op) {
  if (map.reverse || map.scale.size() > kernels::kMaxPixelChannels || map.scale.size() != map.offset.size())
    return false;
  op.kind = kernels::PixelOpKind::kAffine;
  op.per_channel = map.scale.size() > 1;
  std::ranges::copy(map.scale, op.scale);
  std::ranges::copy(map.offset, op.offset);
  return true;
}

void write_crop(std::int64_t height, std::int64_t width, std::int64_t padding, bool random, kernels::PixelOp& op) {
  op.kind = kernels::PixelOpKind::kCrop;
  op.height = static_cast<std::int32_t>(height);
  op.width = static_cast<std::int32_t>(width);
  op.padding = static_cast<std::int32_t>(padding);
  op.random = random;
}

void write_range(double low, double high, const std::vector<double>& value_range, kernels::PixelOp& op) {
  op.low = low;
  op.high = high;
  op.floor = static_cast<float>(value_range[0]);
  op.ceiling = static_cast<float>(value_range[1]);
  op.range = static_cast<float>(value_range[1] - value_range[0]);
}

}  // namespace dptrain::data
