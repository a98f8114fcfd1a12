#include "nn/recurrent.h"

#include "core/format.h"

namespace dptrain::nn {

std::vector<OutputDef> recurrent_outputs(const RecurrentCell& cell, const RecurrentSpec& spec,
                                         std::span<const TensorDef> in) {
  const std::size_t states = cell.states.size();
  if (in.size() != 1 && in.size() != 1 + states)
    throw LayerError(fmt::format("expected 1 input, or {} with the initial state, found {}", 1 + states, in.size()));
  if (in[0].shape.rank() != 2)
    throw LayerError(fmt::format("expected an input of 2 axes (steps, features), {{0}} is {}", in[0].shape.str()));
  for (std::size_t i = 1; i < in.size(); ++i)
    if (in[i].shape != Shape{spec.units})
      throw LayerError(fmt::format("the initial {} has one number for each of {} units, {{{}}} is {}",
                                   cell.states[i - 1], spec.units, i, in[i].shape.str()));
  const Shape last{spec.units};
  const bool several = spec.return_state;
  std::vector<OutputDef> all{
      {several ? "output" : "", spec.return_sequences ? Shape{in[0].shape[0], spec.units} : last}};
  for (const std::string& state : cell.states)
    if (several) all.push_back({state, last});
  return all;
}

std::vector<WeightDef> recurrent_weights(const RecurrentCell& cell, const RecurrentSpec& spec,
                                         std::span<const Shape> in, Shape bias) {
  const std::int64_t columns = cell.gates * spec.units;
  std::vector<WeightDef> all{{.name = cell.name + "/kernel",
                              .shape = {in[0].back(), columns},
                              .initializer = spec.kernel_initializer,
                              .regularizer = spec.kernel_regularizer},
                             {.name = cell.name + "/recurrent_kernel",
                              .shape = {spec.units, columns},
                              .initializer = spec.recurrent_initializer,
                              .regularizer = spec.recurrent_regularizer}};
  if (spec.use_bias)
    all.push_back({.name = cell.name + "/bias",
                   .shape = std::move(bias),
                   .initializer = spec.bias_initializer,
                   .regularizer = spec.bias_regularizer});
  return all;
}

std::string recurrent_activation_complaint(Activation activation) {
  if (can_be_epilogue(activation)) return "";
  return fmt::format("must be a function whose slope follows from its value, such as tanh, sigmoid or relu; {} is none",
                     name_of(activation));
}

std::string stateful_complaint(bool stateful) {
  if (!stateful) return "";
  return "must be false: batches are shuffled and divided among replicas, so no sample goes on where another ended; "
         "feed whole sequences, or read and give states with return_state and inputs";
}

}  // namespace dptrain::nn
