#pragma once

// Output shapes of a layer, without a graph.

#include <span>
#include <vector>

#include "nn/layer.h"

namespace dptrain::test {

inline std::vector<nn::OutputDef> outputs_of(const config::Typed& layer, std::span<const Shape> inputs) {
  const nn::LayerType& type = nn::type_of(layer);
  std::vector<nn::TensorDef> tensors;
  for (const Shape& shape : inputs) tensors.push_back({shape, type.input_type});
  return type.outputs(layer.spec(), tensors);
}

inline Shape output_shape(const config::Typed& layer, std::span<const Shape> inputs) {
  return outputs_of(layer, inputs).front().shape;
}

}  // namespace dptrain::test
