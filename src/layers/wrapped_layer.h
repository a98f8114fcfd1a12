#pragma once

// The layer that another layer wraps, written as its argument: `layer: {LSTM: {units: 64}}`. It has no arguments of a
// step (name, inputs, ...): those are the wrapper's.

#include "config/json_fragment.h"
#include "layers/layer.h"

namespace dptrain::layers {

struct WrappedLayer : config::Of<layer_family> {
  using config::Of<layer_family>::Of;
};

}  // namespace dptrain::layers

template <>
struct dptrain::config::Value<dptrain::layers::WrappedLayer> {
  using Of = config::Of<dptrain::layers::layer_family>;

  static bool read(const Node& node, Reader& reader, dptrain::layers::WrappedLayer& out) {
    return Value<Of>::read(node, reader, out);
  }
  static Node write(const dptrain::layers::WrappedLayer& value) { return value ? value.write() : Node(); }
  static Node schema() { return fragment::reference("step"); }
};
