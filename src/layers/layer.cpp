#include "layers/layer.h"

#include "layers/conv2d.h"
#include "layers/dense.h"

namespace dptrain::layers {
namespace {

template <class Spec>
config::Typed linear(const config::Typed& layer, const Spec& spec) {
  auto copy = std::make_shared<Spec>(spec);
  copy->activation = Activation::kLinear;
  return {layer.def(), std::move(copy), layer.mark()};
}

}  // namespace

config::Family& layer_family() {
  static config::Family family("layer");
  return family;
}

const LayerType& type_of(const config::Typed& layer) { return static_cast<const LayerType&>(layer.def()); }

std::optional<Activation> activation_of(const config::Typed& layer) {
  if (const auto* conv = layer.get_if<Conv2DSpec>()) return conv->activation;
  if (const auto* dense = layer.get_if<DenseSpec>()) return dense->activation;
  return std::nullopt;
}

config::Typed without_activation(const config::Typed& layer) {
  if (const auto* conv = layer.get_if<Conv2DSpec>()) return linear(layer, *conv);
  if (const auto* dense = layer.get_if<DenseSpec>()) return linear(layer, *dense);
  return layer;
}

}  // namespace dptrain::layers
