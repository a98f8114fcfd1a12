#pragma once

// The definition that MaxPooling2D and AveragePooling2D share. Private to the room.

#include <string>
#include <utility>

#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {

/// Of a `Spec` with `pool_size`, `strides` (absent: equal to pool_size) and `padding`.
template <class Spec>
LayerBuilder<Spec> pooling(std::string name) {
  LayerBuilder<Spec> builder(std::move(name));
  std::move(builder)
      .positional(key("pool_size", &Spec::pool_size).at_least(1).check(Bounded{}))
      .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
      .key(key("padding", &Spec::padding))
      .inputs(1)
      .of_rank(3)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return pooled(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), spec.padding);
      });
  return builder;
}

}  // namespace dptrain::nn
