#include "layers/lstm.h"

namespace dptrain::layers {
namespace {

const RecurrentCell& lstm_cell() {
  static const RecurrentCell cell{.name = "lstm_cell", .gates = 4, .states = {"state_h", "state_c"}};
  return cell;
}

std::vector<WeightDef> lstm_weights(const LSTMSpec& spec, std::span<const Shape> in) {
  std::vector<WeightDef> all = recurrent_weights(lstm_cell(), spec, in, {4 * spec.units});
  if (spec.use_bias && spec.unit_forget_bias)
    all.back().parts = {{spec.units, spec.bias_initializer},
                        {spec.units, Initializer(Ones{})},
                        {2 * spec.units, spec.bias_initializer}};
  return all;
}

LayerBuilder<LSTMSpec> lstm() {
  LayerBuilder<LSTMSpec> builder = layer<LSTMSpec>("LSTM");
  add_recurrent<LSTMSpec>(
      builder, 2, [](auto& b) { add_key(b, "recurrent_activation", &LSTMSpec::recurrent_activation); },
      [](auto& b) { add_key(b, "unit_forget_bias", &LSTMSpec::unit_forget_bias); }, [](auto&) {});
  std::move(builder)
      .outputs(
          [](const LSTMSpec& spec, std::span<const TensorDef> in) { return recurrent_outputs(lstm_cell(), spec, in); })
      .weights(lstm_weights);
  return builder;
}

const Registered kLstm = lstm();

}  // namespace
}  // namespace dptrain::layers
