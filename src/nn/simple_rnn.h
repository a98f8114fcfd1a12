#pragma once

#include "nn/recurrent.h"

namespace dptrain::nn {

/// Keras SimpleRNN (keras/src/nn/rnn/simple_rnn.py): h' = activation(x K + b + h U), which is the step's output and
/// the state.
struct SimpleRNNSpec : RecurrentSpec {};

}  // namespace dptrain::nn
