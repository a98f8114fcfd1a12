#pragma once

// What the recurrent layers have in common, which is Keras's RNN over a cell: keys, shapes of inputs and outputs,
// weights. The functions are private to the room.

#include <string>
#include <utility>
#include <vector>

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

}  // namespace dptrain::nn
