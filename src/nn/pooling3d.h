#pragma once

// The definition that MaxPooling3D and AveragePooling3D share. Private to the room.

#include <string>
#include <utility>

#include "nn/layer.h"
#include "nn/volume_passes.h"
#include "nn/volumes.h"

namespace dptrain::nn {

/// `Image` is the spec over images. The largest of the largest values of frames is that of the volume, and of equal
/// ones the first; the mean of their means is the mean, for a window covers as much of each frame. A pass over windows
/// of one element is left out.
template <class Spec, class Image>
VolumePasses pooling_passes(const Spec& spec) {
  const Size3 strides = spec.strides.value_or(spec.pool_size);
  const auto pass = [&](Size2 pool_size, Size2 stride) {
    return layer_family().make(Image{.pool_size = pool_size, .strides = stride, .padding = spec.padding});
  };
  VolumePasses passes;
  if (spec.pool_size.d > 1 || strides.d > 1) passes.depth = pass(along_depth(spec.pool_size), along_depth(strides));
  const Size2 frame = within_frame(spec.pool_size), step = within_frame(strides);
  if (!passes.depth || frame != Size2{1, 1} || step != Size2{1, 1}) passes.frames = pass(frame, step);
  return passes;
}

/// Of a `Spec` with `pool_size`, `strides` (absent: equal to pool_size) and `padding`.
template <class Spec>
LayerBuilder<Spec> pooling3d(std::string name) {
  LayerBuilder<Spec> builder(std::move(name));
  std::move(builder)
      .positional(key("pool_size", &Spec::pool_size).at_least(1).check(BoundedVolume{}))
      .key(key("strides", &Spec::strides).at_least(1).check(BoundedVolume{}))
      .key(key("padding", &Spec::padding))
      .inputs(1)
      .of_rank(4)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return volume_windows(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), {}, spec.padding, in[0][3]);
      });
  return builder;
}

}  // namespace dptrain::nn
