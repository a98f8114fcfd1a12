#pragma once

#include "nn/recurrent.h"
#include "nn/wrapped_layer.h"

namespace dptrain::nn {

enum class MergeMode { kConcat, kSum, kMul, kAve };

/// Keras Bidirectional (keras/src/nn/rnn/bidirectional.py): two copies of a recurrent layer, one of which takes the
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

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::MergeMode> {
  static constexpr std::array names{
      std::pair{dptrain::nn::MergeMode::kConcat, "concat"}, std::pair{dptrain::nn::MergeMode::kSum, "sum"},
      std::pair{dptrain::nn::MergeMode::kMul, "mul"}, std::pair{dptrain::nn::MergeMode::kAve, "ave"}};
};
