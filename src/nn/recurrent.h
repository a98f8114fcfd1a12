#pragma once

// Recurrent layers, each Keras's RNN over a cell.

#include <string>
#include <utility>
#include <vector>

#include "nn/convolutions.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {

/// Takes steps [steps, features] one after the other, each with the state that the one before has left: the first
/// input; where other layers give the initial state, each of its parts [units] is one more. A step that a mask leaves
/// out keeps the state and repeats the output of the step before (zeros where there is none).
///
/// Gives the last step's output [units], or with return_sequences all of them [steps, units] in the order in which they
/// were computed; with return_state the state at the end as well.
struct RecurrentSpec {
  std::int64_t units = 0;
  Activation activation = Activation::kTanh;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}}, recurrent_initializer{Orthogonal{}}, bias_initializer{Zeros{}};
  Regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer;
  /// Rates at which inputs and state are dropped, with one mask of a sample for all of its steps. With
  /// recurrent_dropout each gate has masks of its own, for the inputs, too.
  float dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false;
  bool go_backwards = false;  ///< the last step first
  bool stateful = false;      ///< refused
  bool unroll = false;        ///< makes no difference here
};

/// Keras SimpleRNN (keras/src/layers/rnn/simple_rnn.py): h' = activation(x K + b + h U), which is the step's output and
/// the state.
struct SimpleRNNSpec : RecurrentSpec {};

/// Keras LSTM (keras/src/layers/rnn/lstm.py): z = x K + h U + b in blocks i, f, c, o of `units` columns; with
/// s = recurrent_activation and a = activation:
///   c' = s(z_f) c + s(z_i) a(z_c),  h' = s(z_o) a(c'); h' is the step's output, (h', c') the state.
struct LSTMSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool unit_forget_bias = true;  ///< the f block of the bias begins with ones, whatever the initializer
};

/// Keras GRU (keras/src/layers/rnn/gru.py): blocks z, r, h of `units` columns; s = recurrent_activation, a =
/// activation:
///   z = s(x K_z + h U_z + b_z), r = s(x K_r + h U_r + b_r), h' = z h + (1 - z) c, which is the step's output, where
///   c = a(x K_h + b_h + r (h U_h + d_h)) with reset_after, else a(x K_h + b_h + (r h) U_h).
/// With reset_after the bias has a second row d, of h U.
struct GRUSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool reset_after = true;
};

/// Keras ConvLSTM2D (keras/src/layers/rnn/conv_lstm2d.py): an LSTM over steps [steps, H, W, C] whose products are
/// convolutions, of the inputs with strides and padding as Conv2D has them, of the state with "same". `units` are
/// Keras's filters: of the state [H', W', filters]. Dropout draws for each number and, alike in all steps, for each
/// gate.
struct ConvLSTM2DSpec : LSTMSpec {
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  Size2 dilation_rate{1, 1};
};

/// The convolution of the inputs, to the four gates of all channels, and that of the state. `groups`: 4 where each gate
/// has inputs of its own, one after the other in the channels.
Conv2DSpec input_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);
Conv2DSpec state_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);

}  // namespace dptrain::nn
