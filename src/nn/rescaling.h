#pragma once

#include <vector>

#include "core/shape.h"
#include "nn/channel_affine.h"

namespace dptrain::nn {

/// x * scale + offset, each one value or one for each channel, the last axis (Keras Rescaling).
struct RescalingSpec {
  ChannelValues scale{{1}};
  ChannelValues offset{{0}};
};

/// Whether all channels are treated alike.
bool is_plain(const RescalingSpec& spec);
ChannelAffine channel_affine(const RescalingSpec& spec, const Shape& in);

}  // namespace dptrain::nn
