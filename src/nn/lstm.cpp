#include "nn/lstm.h"

namespace dptrain::nn {
namespace {

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

}  // namespace dptrain::nn
