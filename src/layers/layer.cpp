#include "layers/layer.h"

namespace dptrain::layers {
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

}  // namespace dptrain::layers
