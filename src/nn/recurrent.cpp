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

namespace {

const RecurrentCell& simple_rnn_cell() {
  static const RecurrentCell cell{.name = "simple_rnn_cell", .gates = 1, .states = {"state_h"}};
  return cell;
}

LayerBuilder<SimpleRNNSpec> simple_rnn() {
  LayerBuilder<SimpleRNNSpec> builder = layer<SimpleRNNSpec>("SimpleRNN");
  add_recurrent<SimpleRNNSpec>(
      builder, 1, [](auto&) {}, [](auto&) {}, [](auto&) {});
  std::move(builder)
      .outputs([](const SimpleRNNSpec& spec, std::span<const TensorDef> in) {
        return recurrent_outputs(simple_rnn_cell(), spec, in);
      })
      .weights([](const SimpleRNNSpec& spec, std::span<const Shape> in) {
        return recurrent_weights(simple_rnn_cell(), spec, in, {spec.units});
      });
  return builder;
}

const Registered kSimpleRnn = simple_rnn();

const RecurrentCell& lstm_cell() {
  static const RecurrentCell cell{.name = "lstm_cell", .gates = 4, .states = {"state_h", "state_c"}};
  return cell;
}

LayerBuilder<LSTMSpec> lstm() {
  LayerBuilder<LSTMSpec> builder = layer<LSTMSpec>("LSTM");
  add_recurrent<LSTMSpec>(
      builder, 2, [](auto& b) { add_key(b, "recurrent_activation", &LSTMSpec::recurrent_activation); },
      [](auto& b) { add_key(b, "unit_forget_bias", &LSTMSpec::unit_forget_bias); }, [](auto&) {});
  std::move(builder)
      .outputs(
          [](const LSTMSpec& spec, std::span<const TensorDef> in) { return recurrent_outputs(lstm_cell(), spec, in); })
      .weights([](const LSTMSpec& spec, std::span<const Shape> in) {
        return lstm_weights(lstm_cell().name, spec, in[0].back());
      });
  return builder;
}

const Registered kLstm = lstm();

}  // namespace

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

namespace {

const RecurrentCell& gru_cell() {
  static const RecurrentCell cell{.name = "gru_cell", .gates = 3, .states = {"state_h"}};
  return cell;
}

std::vector<WeightDef> gru_weights(const GRUSpec& spec, std::span<const Shape> in) {
  return recurrent_weights(gru_cell(), spec, in, spec.reset_after ? Shape{2, 3 * spec.units} : Shape{3 * spec.units});
}

LayerBuilder<GRUSpec> gru() {
  LayerBuilder<GRUSpec> builder = layer<GRUSpec>("GRU");
  add_recurrent<GRUSpec>(
      builder, 1, [](auto& b) { add_key(b, "recurrent_activation", &GRUSpec::recurrent_activation); }, [](auto&) {},
      [](auto& b) { add_key(b, "reset_after", &GRUSpec::reset_after); });
  std::move(builder)
      .outputs(
          [](const GRUSpec& spec, std::span<const TensorDef> in) { return recurrent_outputs(gru_cell(), spec, in); })
      .weights(gru_weights);
  return builder;
}

const Registered kGru = gru();

using Spec = ConvLSTM2DSpec;

constexpr std::int64_t kConvLstmGates = 4;

/// [H', W', filters] of the state.
Shape state_shape(const Spec& spec, const Shape& in) {
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Shape frame{in[1], in[2], in[3]};
  const Window w = window(frame, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.units};
}

std::vector<OutputDef> outputs(const Spec& spec, std::span<const TensorDef> in) {
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

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const std::int64_t columns = kConvLstmGates * spec.units;
  // Cells of this name have the same weights but for the kernels' two axes in front.
  std::vector<WeightDef> all = lstm_weights("conv_lstm_cell", spec, in[0].back());
  all[0].shape = {spec.kernel_size.h, spec.kernel_size.w, in[0].back(), columns};
  all[1].shape = {spec.kernel_size.h, spec.kernel_size.w, spec.units, columns};
  return all;
}

LayerBuilder<Spec> conv_lstm2d() {
  LayerBuilder<Spec> builder = layer<Spec>("ConvLSTM2D");
  std::move(builder)
      .positional(config::key<Spec, std::int64_t>("filters", &Spec::units).required().at_least(1).check(Bounded{}))
      .key(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
      .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
      .key(key("padding", &Spec::padding))
      .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{}));
  add_cell_keys<Spec>(
      builder, [](auto& b) { add_key(b, "recurrent_activation", &Spec::recurrent_activation); },
      [](auto& b) { add_key(b, "unit_forget_bias", &Spec::unit_forget_bias); }, [](auto&) {});
  std::move(builder)
      .inputs(1, 3)
      .outputs(outputs)
      .weights(weights)
      .random([](const Spec& spec) { return spec.dropout > 0 || spec.recurrent_dropout > 0; })
      .masks(MaskRule::kHeeds)
      .backward_reads(BackwardReads{.input_to_train = true});
  return builder;
}

const Registered kConvLstm2D = conv_lstm2d();

Conv2DSpec convolution_of(const Spec& spec, std::int64_t groups) {
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
