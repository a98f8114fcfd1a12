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

/// What a kind of cell adds to that.
struct RecurrentCell {
  std::string name;                 ///< "lstm_cell": Keras's scope of the weights
  std::int64_t gates = 1;           ///< blocks of the kernels' columns
  std::vector<std::string> states;  ///< names of the outputs that return_state adds
};

/// Throws LayerError.
std::vector<OutputDef> recurrent_outputs(const RecurrentCell& cell, const RecurrentSpec& spec,
                                         std::span<const TensorDef> in);
/// kernel, recurrent_kernel, and with use_bias a bias of that shape.
std::vector<WeightDef> recurrent_weights(const RecurrentCell& cell, const RecurrentSpec& spec,
                                         std::span<const Shape> in, Shape bias);

/// The complaint about an activation whose slope does not follow from its value, all that is kept for backward.
std::string recurrent_activation_complaint(Activation activation);
std::string stateful_complaint(bool stateful);

/// Gives the builder a key of `Spec` or of what it derives from.
template <class Spec, class Owner, class T>
void add_key(LayerBuilder<Spec>& builder, const char* name, T Owner::*member) {
  auto made = config::key<Spec, T>(name, member);
  if constexpr (std::is_same_v<T, Activation>) made.check(recurrent_activation_complaint);
  if constexpr (std::is_same_v<T, float>) made.at_least(0).below(1);
  std::move(builder).key(made);
}

/// The keys behind the first ones, in Keras's order. `activations`, `initializers` and `dropouts` add the cell's own
/// behind `activation`, the initializers and the dropout rates.
template <class Spec>
void add_cell_keys(LayerBuilder<Spec>& builder, void (*activations)(LayerBuilder<Spec>&),
                   void (*initializers)(LayerBuilder<Spec>&), void (*dropouts)(LayerBuilder<Spec>&)) {
  add_key(builder, "activation", &Spec::activation);
  activations(builder);
  add_key(builder, "use_bias", &Spec::use_bias);
  add_key(builder, "kernel_initializer", &Spec::kernel_initializer);
  add_key(builder, "recurrent_initializer", &Spec::recurrent_initializer);
  add_key(builder, "bias_initializer", &Spec::bias_initializer);
  initializers(builder);
  add_key(builder, "kernel_regularizer", &Spec::kernel_regularizer);
  add_key(builder, "recurrent_regularizer", &Spec::recurrent_regularizer);
  add_key(builder, "bias_regularizer", &Spec::bias_regularizer);
  add_key(builder, "dropout", &Spec::dropout);
  add_key(builder, "recurrent_dropout", &Spec::recurrent_dropout);
  dropouts(builder);
  add_key(builder, "return_sequences", &Spec::return_sequences);
  add_key(builder, "return_state", &Spec::return_state);
  add_key(builder, "go_backwards", &Spec::go_backwards);
  std::move(builder).key(config::key<Spec, bool>("stateful", &Spec::stateful).check(stateful_complaint));
}

/// The keys and all else that is the same for every cell over steps of features.
template <class Spec>
LayerBuilder<Spec>& add_recurrent(LayerBuilder<Spec>& builder, int states, void (*activations)(LayerBuilder<Spec>&),
                                  void (*initializers)(LayerBuilder<Spec>&), void (*dropouts)(LayerBuilder<Spec>&)) {
  std::move(builder).positional(
      config::key<Spec, std::int64_t>("units", &Spec::units).required().at_least(1).check(Bounded{}));
  add_cell_keys(builder, activations, initializers, dropouts);
  add_key(builder, "unroll", &Spec::unroll);
  std::move(builder)
      .inputs(1, 1 + states)
      .random([](const Spec& spec) { return spec.dropout > 0 || spec.recurrent_dropout > 0; })
      .masks([](const Spec& spec, std::span<const Shape>) {
        return spec.return_sequences ? MaskRule::kPasses : MaskRule::kEnds;
      })
      .heeds_masks()
      .backward_reads(BackwardReads{.input_to_train = true, .masks = true});
  return builder;
}

/// Keras SimpleRNN (keras/src/nn/rnn/simple_rnn.py): h' = activation(x K + b + h U), which is the step's output and
/// the state.
struct SimpleRNNSpec : RecurrentSpec {};

/// Keras LSTM (keras/src/nn/rnn/lstm.py): z = x K + h U + b in blocks i, f, c, o of `units` columns; with
/// s = recurrent_activation and a = activation:
///   c' = s(z_f) c + s(z_i) a(z_c),  h' = s(z_o) a(c'); h' is the step's output, (h', c') the state.
struct LSTMSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool unit_forget_bias = true;  ///< the f block of the bias begins with ones, whatever the initializer
};

/// kernel [features, 4 units], recurrent_kernel, bias of a cell of that name.
std::vector<WeightDef> lstm_weights(const std::string& cell, const LSTMSpec& spec, std::int64_t features);

/// Keras GRU (keras/src/nn/rnn/gru.py): blocks z, r, h of `units` columns; s = recurrent_activation, a =
/// activation:
///   z = s(x K_z + h U_z + b_z), r = s(x K_r + h U_r + b_r), h' = z h + (1 - z) c, which is the step's output, where
///   c = a(x K_h + b_h + r (h U_h + d_h)) with reset_after, else a(x K_h + b_h + (r h) U_h).
/// With reset_after the bias has a second row d, of h U.
struct GRUSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool reset_after = true;
};

/// Keras ConvLSTM2D (keras/src/nn/rnn/conv_lstm2d.py): an LSTM over steps [steps, H, W, C] whose products are
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
/// has inputs of its own, one behind the other in the channels.
Conv2DSpec input_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);
Conv2DSpec state_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);

}  // namespace dptrain::nn
