#pragma once

#include "layers/recurrent.h"

namespace dptrain::layers {

/// Keras SimpleRNN (keras/src/layers/rnn/simple_rnn.py): h' = activation(x K + b + h U), which is the step's output and
/// the state.
struct SimpleRNNSpec : RecurrentSpec {};

}  // namespace dptrain::layers
