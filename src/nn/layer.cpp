#include "nn/layer.h"

#include <utility>

namespace dptrain::nn {

std::vector<Shape> shapes_of(std::span<const TensorDef> tensors) {
  std::vector<Shape> shapes;
  for (const TensorDef& tensor : tensors) shapes.push_back(tensor.shape);
  return shapes;
}

OutputDef mask_output(Shape steps) { return {"mask", std::move(steps), DType::kU8, true}; }

config::Family& layer_family() {
  static config::Family family("layer");
  return family;
}

const LayerType& type_of(const config::Typed& layer) { return static_cast<const LayerType&>(layer.def()); }

std::optional<Activation> activation_of(const config::Typed& layer) {
  const LayerType& type = type_of(layer);
  if (!type.activation) return std::nullopt;
  return type.activation(layer.spec());
}

config::Typed without_activation(const config::Typed& layer) {
  const LayerType& type = type_of(layer);
  return type.linear ? config::Typed(type, type.linear(layer.spec()), layer.mark()) : layer;
}

config::Typed computed_as(const config::Typed& layer) {
  const LayerType& type = type_of(layer);
  return type.computed_as ? type.computed_as(layer.spec()) : layer;
}

std::pair<config::Typed, int> applied(const config::Typed& layer) {
  std::pair<config::Typed, int> found{layer, 0};
  for (; type_of(found.first).applies; ++found.second) found.first = type_of(found.first).applies(found.first.spec());
  return found;
}

VolumePasses passes_of(const config::Typed& layer) {
  const LayerType& type = type_of(layer);
  return type.passes ? type.passes(layer.spec()) : VolumePasses{};
}

Shape with_height(const Shape& steps) {
  constexpr int kVolume = 4;
  if (steps.rank() == kVolume) return {steps[0] * steps[1], steps[2], steps[3]};
  std::vector<std::int64_t> dims = steps.dims();
  dims.insert(dims.begin(), 1);
  return Shape(std::move(dims));
}

}  // namespace dptrain::nn
