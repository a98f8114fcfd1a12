#pragma once

// The layer that another layer wraps, written as its argument: `layer: {LSTM: {units: 64}}`. It has no arguments of a
// step (name, inputs, ...): those are the wrapper's.

#include "config/json_fragment.h"
#include "nn/layer.h"

namespace dptrain::nn {

struct WrappedLayer : config::Of<layer_family> {
  using config::Of<layer_family>::Of;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::Value<dptrain::nn::WrappedLayer> {
  using Of = config::Of<dptrain::nn::layer_family>;

  static bool read(const Node& node, Reader& reader, dptrain::nn::WrappedLayer& out) {
    return Value<Of>::read(node, reader, out);
  }
  static Node write(const dptrain::nn::WrappedLayer& value) { return value ? value.write() : Node(); }
  static Node schema() { return fragment::reference("step"); }
};
