#pragma once

// Recurrent layers, each Keras's RNN over a cell.

#include "nn/convolutions.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {

/// A layer over [steps, features], its first input. Each step reads the state that the step before has computed. The
/// parts [units] of the initial state may be further inputs. A masked step does not change the state, and repeats the
/// output of the step before (zeros if there is none).
///
/// The output is that of the last step, [units], or with return_sequences those of all steps, [steps, units], in the
/// order of computation. With return_state the parts of the final state are further outputs.
struct RecurrentSpec {
  std::int64_t units = 0;
  Activation activation = Activation::kTanh;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}}, recurrent_initializer{Orthogonal{}}, bias_initializer{Zeros{}};
  Regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer;
  /// Dropout rates of inputs and state. A sample has one mask for all of its steps. With recurrent_dropout each gate
  /// has its own masks, also for the inputs.
  float dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false;
  bool go_backwards = false;  ///< processes the last step first
  bool stateful = false;      ///< must be false
  bool unroll = false;        ///< has no effect
};

/// Keras SimpleRNN (keras/src/layers/rnn/simple_rnn.py): h' = activation(x K + b + h U) is both output and state.
struct SimpleRNNSpec : RecurrentSpec {};

/// Keras LSTM (keras/src/layers/rnn/lstm.py): z = x K + h U + b in blocks i, f, c, o of `units` columns; with
/// s = recurrent_activation and a = activation:
///   c' = s(z_f) c + s(z_i) a(z_c),  h' = s(z_o) a(c'); h' is the step's output, (h', c') the state.
struct LSTMSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool unit_forget_bias = true;  ///< the f block of the bias begins with ones, whatever the initializer
};

/// Keras GRU (keras/src/layers/rnn/gru.py): blocks z, r, h of `units` columns; s = recurrent_activation, a =
/// activation.
///   z = s(x K_z + h U_z + b_z), r = s(x K_r + h U_r + b_r);
///   c = a(x K_h + b_h + r (h U_h + d_h)) with reset_after, else a(x K_h + b_h + (r h) U_h);
///   h' = z h + (1 - z) c is both the step's output and the state.
/// With reset_after the bias has a second row d, which is added to h U in all blocks.
struct GRUSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool reset_after = true;
};

/// Keras ConvLSTM2D (keras/src/layers/rnn/conv_lstm2d.py): an LSTM over [steps, H, W, C] with convolutions in place of
/// products. The convolution of the inputs has the strides and padding of Conv2D, that of the state "same". `units` is
/// Keras's filters: the state is [H', W', filters]. Dropout draws for each element and gate, once for all steps.
struct ConvLSTM2DSpec : LSTMSpec {
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  Size2 dilation_rate{1, 1};
};

/// The convolution of the inputs for the four gates of all channels, and that of the state. `groups` is 4 if each gate
/// has its own inputs, one after the other in the channels.
Conv2DSpec input_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);
Conv2DSpec state_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);

}  // namespace dptrain::nn
