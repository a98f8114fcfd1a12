#pragma once

#include "layers/recurrent.h"
#include "layers/wrapped_layer.h"

namespace dptrain::layers {

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

}  // namespace dptrain::layers

template <>
struct dptrain::config::EnumNames<dptrain::layers::MergeMode> {
  static constexpr std::array names{
      std::pair{dptrain::layers::MergeMode::kConcat, "concat"}, std::pair{dptrain::layers::MergeMode::kSum, "sum"},
      std::pair{dptrain::layers::MergeMode::kMul, "mul"}, std::pair{dptrain::layers::MergeMode::kAve, "ave"}};
};
