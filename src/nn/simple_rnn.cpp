#include "nn/simple_rnn.h"

namespace dptrain::nn {
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

}  // namespace
}  // namespace dptrain::nn
