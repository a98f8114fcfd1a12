#include "nn/recurrent.h"

#include "core/format.h"

namespace dptrain::nn {
namespace {

struct RecurrentCell {
  std::string name;                 ///< "lstm_cell": Keras's scope of the weights
  std::int64_t gates = 1;           ///< blocks of the kernels' columns
  std::vector<std::string> states;  ///< names of the outputs that return_state adds
};

/// Throws LayerError.
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

/// kernel, recurrent_kernel, and with use_bias a bias of shape `bias`.
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

/// Error for an activation whose derivative cannot be computed from its value. Backward reads only the value.
std::string recurrent_activation_error(Activation activation) {
  if (can_be_epilogue(activation)) return "";
  return fmt::format(
      "must be a function whose derivative follows from its value, such as tanh, sigmoid or relu; {} is not",
      name_of(activation));
}

std::string stateful_error(bool stateful) {
  if (!stateful) return "";
  return "must be false: batches are shuffled and divided among replicas, so no sample continues another; feed whole "
         "sequences, or pass states with return_state and inputs";
}

/// Adds the keys after the layer's first ones, in Keras's order.
template <class Spec>
void add_cell_keys(LayerBuilder<Spec>& builder) {
  const std::string masks = fmt::format(", with one mask per sample{}, the same at each step",
                                        std::is_same_v<Spec, ConvLSTM2DSpec> ? " and gate" : "");
  builder.key(key("activation", &RecurrentSpec::activation)
                  .check(recurrent_activation_error)
                  .doc("function of the new state; of LSTM also of the cell"));
  if constexpr (requires { &Spec::recurrent_activation; })
    builder.key(key("recurrent_activation", &Spec::recurrent_activation)
                    .check(recurrent_activation_error)
                    .doc("function of the gates"));
  builder.key(key("use_bias", &RecurrentSpec::use_bias).doc("whether to add a bias"))
      .key(key("kernel_initializer", &RecurrentSpec::kernel_initializer).doc("initializer of the kernel"))
      .key(key("recurrent_initializer", &RecurrentSpec::recurrent_initializer)
               .doc("initializer of the kernel that multiplies the state"))
      .key(key("bias_initializer", &RecurrentSpec::bias_initializer).doc("initializer of the bias"));
  if constexpr (requires { &Spec::unit_forget_bias; })
    builder.key(
        key("unit_forget_bias", &Spec::unit_forget_bias).doc("whether the forget gate's bias begins with ones"));
  builder
      .key(
          key("kernel_regularizer", &RecurrentSpec::kernel_regularizer).doc("penalty on the kernel, added to the loss"))
      .key(key("recurrent_regularizer", &RecurrentSpec::recurrent_regularizer)
               .doc("penalty on the kernel that multiplies the state, added to the loss"))
      .key(key("bias_regularizer", &RecurrentSpec::bias_regularizer).doc("penalty on the bias, added to the loss"))
      .key(rate_key("dropout", &RecurrentSpec::dropout).doc("rate at which inputs are dropped" + masks))
      .key(rate_key("recurrent_dropout", &RecurrentSpec::recurrent_dropout)
               .doc("rate at which the state is dropped" + masks));
  if constexpr (requires { &Spec::reset_after; })
    builder.key(key("reset_after", &Spec::reset_after)
                    .doc("whether to apply the reset gate after the product with the state, not before it"));
  builder
      .key(key("return_sequences", &RecurrentSpec::return_sequences)
               .doc("whether to return the outputs of all steps, not of the last one"))
      .key(key("return_state", &RecurrentSpec::return_state)
               .doc("whether to return the final state as well, as outputs of its own"))
      .key(key("go_backwards", &RecurrentSpec::go_backwards).doc("whether to process the last step first"))
      .key(key("stateful", &RecurrentSpec::stateful)
               .check(stateful_error)
               .doc("only false: samples do not continue those of the batch before"))
      .random([](const Spec& spec) { return spec.dropout > 0 || spec.recurrent_dropout > 0; });
}

const RecurrentCell kSimpleRnnCell{.name = "simple_rnn_cell", .gates = 1, .states = {"state_h"}};
const RecurrentCell kLstmCell{.name = "lstm_cell", .gates = 4, .states = {"state_h", "state_c"}};
const RecurrentCell kGruCell{.name = "gru_cell", .gates = 3, .states = {"state_h"}};

/// A layer over steps. The caller sets the weights.
template <class Spec, const RecurrentCell& cell>
LayerBuilder<Spec> recurrent(const char* name) {
  auto builder = layer<Spec>(name);
  builder
      .doc(fmt::format("[steps, features] -> [units], or [steps, units] with `return_sequences`; `return_state` adds "
                       "the output{}",
                       cell.states.size() == 1 ? " `state_h`" : "s `state_h` and `state_c`"))
      .positional(extent_key("units", &RecurrentSpec::units).required().doc("number of outputs"));
  add_cell_keys(builder);
  builder.key(key("unroll", &RecurrentSpec::unroll).doc("no effect here"))
      .inputs(1, 1 + static_cast<int>(cell.states.size()))
      .outputs([](const Spec& spec, std::span<const TensorDef> in) { return recurrent_outputs(cell, spec, in); })
      .masks([](const Spec& spec, std::span<const Shape>) {
        return spec.return_sequences ? MaskRule::kPasses : MaskRule::kEnds;
      })
      .uses_masks()
      .backward_reads(BackwardReads{.input_to_train = true, .masks = true})
      .masked_example("units: 6, return_sequences: true, dropout: 0.2", {{9, 5}})
      .masked_example("units: 5, go_backwards: true", {{9, 5}})
      .masked_example("units: 6, recurrent_dropout: 0.2", {{9, 5}});
  return builder;
}

const Registered kSimpleRnn = recurrent<SimpleRNNSpec, kSimpleRnnCell>("SimpleRNN")
                                  .weights([](const SimpleRNNSpec& spec, std::span<const Shape> in) {
                                    return recurrent_weights(kSimpleRnnCell, spec, in, {spec.units});
                                  });

/// kernel [features, 4 units], recurrent_kernel, bias of a cell of this name.
std::vector<WeightDef> lstm_weights(const std::string& cell, const LSTMSpec& spec, std::int64_t features) {
  const Shape input{features};
  std::vector<WeightDef> all =
      recurrent_weights({.name = cell, .gates = 4, .states = {}}, spec, {&input, 1}, {4 * spec.units});
  if (spec.use_bias && spec.unit_forget_bias)
    all.back().parts = {{spec.units, spec.bias_initializer},
                        {spec.units, Initializer(Ones{})},
                        {2 * spec.units, spec.bias_initializer}};
  return all;
}

const Registered kLstm = recurrent<LSTMSpec, kLstmCell>("LSTM").weights(
    [](const LSTMSpec& spec, std::span<const Shape> in) { return lstm_weights(kLstmCell.name, spec, in[0].back()); });

const Registered kGru = recurrent<GRUSpec, kGruCell>("GRU").weights([](const GRUSpec& spec, std::span<const Shape> in) {
  const Shape bias = spec.reset_after ? Shape{2, 3 * spec.units} : Shape{3 * spec.units};
  return recurrent_weights(kGruCell, spec, in, bias);
});

constexpr std::int64_t kConvLstmGates = 4;

/// The shape of the state: [H', W', filters].
Shape state_shape(const ConvLSTM2DSpec& spec, const Shape& in) {
  refuse_strided_dilation(axes(spec.strides), axes(spec.dilation_rate));
  const Shape frame{in[1], in[2], in[3]};
  const Window w = window(frame, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.units};
}

std::vector<OutputDef> outputs(const ConvLSTM2DSpec& spec, std::span<const TensorDef> in) {
  if (in.size() == 2) throw LayerError("expected 1 input, or 3 with the initial state, found 2");
  if (in[0].shape.rank() != 4)
    throw LayerError(
        fmt::format("expected an input of 4 axes (steps, height, width, channels), {{0}} is {}", in[0].shape.str()));
  const Shape state = state_shape(spec, in[0].shape);
  for (std::size_t i = 1; i < in.size(); ++i)
    if (in[i].shape != state)
      throw LayerError(fmt::format("the initial state is {}, {{{}}} is {}", state.str(), i, in[i].shape.str()));
  const Shape all{in[0].shape[0], state[0], state[1], state[2]};
  std::vector<OutputDef> made{{spec.return_state ? "output" : "", spec.return_sequences ? all : state}};
  if (spec.return_state) made.insert(made.end(), {{"state_h", state}, {"state_c", state}});
  return made;
}

std::vector<WeightDef> weights(const ConvLSTM2DSpec& spec, std::span<const Shape> in) {
  const std::int64_t columns = kConvLstmGates * spec.units;
  // The weights are those of an LSTM, except that the kernels have two more leading axes.
  std::vector<WeightDef> all = lstm_weights("conv_lstm_cell", spec, in[0].back());
  all[0].shape = {spec.kernel_size.h, spec.kernel_size.w, in[0].back(), columns};
  all[1].shape = {spec.kernel_size.h, spec.kernel_size.w, spec.units, columns};
  return all;
}

LayerBuilder<ConvLSTM2DSpec> conv_lstm2d() {
  auto builder = layer<ConvLSTM2DSpec>("ConvLSTM2D");
  builder
      .doc(
          "[steps, H, W, C] -> [H', W', filters], or [steps, H', W', filters] with `return_sequences`; an LSTM with "
          "convolutions, `return_state` adds the outputs `state_h` and `state_c`")
      .positional(extent_key("filters", &RecurrentSpec::units).required().doc("number of output channels"))
      .key(kernel_size_key<ConvLSTM2DSpec>())
      .key(strides_key<ConvLSTM2DSpec>())
      .key(padding_key<ConvLSTM2DSpec>())
      .key(dilation_key<ConvLSTM2DSpec>());
  add_cell_keys(builder);
  builder.inputs(1, 3)
      .outputs(outputs)
      .weights(weights)
      .masks(MaskRule::kUnsupported)
      .backward_reads(BackwardReads{.input_to_train = true});
  return builder;
}

const Registered kConvLstm2D =
    conv_lstm2d().example("filters: 3, kernel_size: 2, padding: same, dropout: 0.2", {{3, 7, 2, 4}});

Conv2DSpec convolution_of(const ConvLSTM2DSpec& spec, std::int64_t groups) {
  Conv2DSpec conv;
  conv.filters = kConvLstmGates * spec.units;
  conv.kernel_size = spec.kernel_size;
  conv.groups = groups;
  return conv;
}

}  // namespace

Conv2DSpec input_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups) {
  Conv2DSpec conv = convolution_of(spec, groups);
  conv.strides = spec.strides;
  conv.padding = spec.padding;
  conv.dilation_rate = spec.dilation_rate;
  conv.use_bias = spec.use_bias;
  return conv;
}

Conv2DSpec state_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups) {
  Conv2DSpec conv = convolution_of(spec, groups);
  conv.padding = Padding::kSame;
  conv.use_bias = false;
  return conv;
}

}  // namespace dptrain::nn
