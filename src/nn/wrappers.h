#pragma once

// Layers that apply another layer.

#include "config/json_fragment.h"
#include "nn/layer.h"
#include "nn/recurrent.h"

namespace dptrain::nn {

/// The layer that another layer wraps, written as its argument: `layer: {LSTM: {units: 64}}`. It has no arguments of a
/// step (name, inputs, ...): those are the wrapper's.
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

/// Keras Bidirectional (keras/src/layers/rnn/bidirectional.py): two copies of a recurrent layer, one of which takes the
/// last step first, and has its outputs turned round. What they give for a step becomes one output by merge_mode; a
/// step that a mask leaves out gives zeros where there are outputs of all steps. States, given or read, are those of
/// the forward copy, then those of the backward one; so are the weights.
struct BidirectionalSpec {
  WrappedLayer layer;  ///< LSTM, GRU or SimpleRNN
  MergeMode merge_mode = MergeMode::kConcat;
};

/// What the wrapped layer has in common with all recurrent ones.
const RecurrentSpec& recurrent_spec(const BidirectionalSpec& spec);
/// The wrapped layer, and the same the other way round.
config::Typed direction_of(const BidirectionalSpec& spec, bool backward);
/// Parts of the state of one copy.
std::size_t states_of(const BidirectionalSpec& spec);

/// Keras TimeDistributed (keras/src/layers/rnn/time_distributed.py): the layer, with one set of weights, applied to
/// every step of [steps, ...]. To the layer, all steps of all samples are one batch, so its moments are over all of
/// them (as in Keras 2; Keras 3 takes those of each step apart) and its dropout draws for each. A mask of steps passes.
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
