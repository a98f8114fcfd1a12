#pragma once

// The definition that MaxPooling1D and AveragePooling1D share. Private to the room.

#include <string>
#include <utility>

#include "nn/layer.h"
#include "nn/steps.h"

namespace dptrain::nn {

/// Of a `Spec` with `pool_size`, `strides` (absent: equal to pool_size) and `padding`; `Image` is the spec over images.
template <class Spec, class Image>
LayerBuilder<Spec> pooling1d(std::string name) {
  LayerBuilder<Spec> builder(std::move(name));
  std::move(builder)
      .positional(key("pool_size", &Spec::pool_size).at_least(1).check(BoundedExtent{}))
      .key(key("strides", &Spec::strides).at_least(1).check(BoundedExtent{}))
      .key(key("padding", &Spec::padding))
      .inputs(1)
      .of_rank(2)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return Shape{windows(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), {1}, spec.padding),
                     in[0][1]};
      })
      .computed_as(+[](const Spec& spec) {
        return Image{.pool_size = along(spec.pool_size), .strides = along(spec.strides), .padding = spec.padding};
      });
  return builder;
}

}  // namespace dptrain::nn
