#pragma once

// Layers that apply another layer.

#include "config/json_fragment.h"
#include "nn/layer.h"
#include "nn/recurrent.h"

namespace dptrain::nn {

/// The layer that another layer wraps, written as its argument: `layer: {LSTM: {units: 64}}`. Arguments of a step
/// (name, inputs, ...) belong to the wrapper, not to this layer.
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

namespace dptrain::nn {

enum class MergeMode { kConcat, kSum, kMul, kAve };

/// Keras Bidirectional (keras/src/layers/rnn/bidirectional.py): two copies of a recurrent layer. The backward copy
/// processes the last step first, and its outputs are reversed. merge_mode combines the two outputs of each step. With
/// outputs of all steps a masked step gives zeros. States and weights are those of the forward copy, then those of the
/// backward copy.
struct BidirectionalSpec {
  WrappedLayer layer;  ///< LSTM, GRU or SimpleRNN
  MergeMode merge_mode = MergeMode::kConcat;
};

/// The arguments of the wrapped layer that all recurrent layers have.
const RecurrentSpec& recurrent_spec(const BidirectionalSpec& spec);
/// The forward or the backward copy of the wrapped layer.
config::Typed direction_of(const BidirectionalSpec& spec, bool backward);
/// Number of state tensors of one copy.
std::size_t states_of(const BidirectionalSpec& spec);

/// Keras TimeDistributed (keras/src/layers/rnn/time_distributed.py): applies the layer, with one set of weights, to
/// every step of [steps, ...]. All steps of all samples are one batch of the layer. Moments are over all of them, as in
/// Keras 2 (Keras 3 computes them per step), and dropout draws for each. A mask of steps is passed on.
struct TimeDistributedSpec {
  WrappedLayer layer;  ///< one input, one output
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::MergeMode> {
  static constexpr std::array names{
      std::pair{dptrain::nn::MergeMode::kConcat, "concat"}, std::pair{dptrain::nn::MergeMode::kSum, "sum"},
      std::pair{dptrain::nn::MergeMode::kMul, "mul"}, std::pair{dptrain::nn::MergeMode::kAve, "ave"}};
};
