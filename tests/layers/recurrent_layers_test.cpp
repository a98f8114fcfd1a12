// Shapes, weights and refusals of the recurrent layers.

#include "layers/example.h"

namespace dptrain::layers {
namespace {

const Shape kSequence{7, 3};

std::vector<OutputDef> all_outputs(const std::string& yaml) {
  const config::Typed layer = layer_of(yaml);
  const std::vector<TensorDef> inputs{{kSequence}};
  return type_of(layer).outputs(layer.spec(), inputs);
}

TEST(RecurrentLayers, LSTM) {
  EXPECT_EQ(output_of("LSTM: 5", {kSequence}), Shape{5});
  EXPECT_EQ(output_of("LSTM: {units: 5, return_sequences: true}", {kSequence}), (Shape{7, 5}));
  EXPECT_EQ(weights_of("LSTM: 5", {kSequence}),
            "lstm_cell/kernel 3x20, lstm_cell/recurrent_kernel 5x20, lstm_cell/bias 20");
  EXPECT_EQ(weights_of("LSTM: {units: 5, use_bias: false}", {kSequence}),
            "lstm_cell/kernel 3x20, lstm_cell/recurrent_kernel 5x20");
}

TEST(RecurrentLayers, GiveTheirStateByName) {
  const auto outputs = all_outputs("LSTM: {units: 5, return_sequences: true, return_state: true}");
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].shape, (Shape{7, 5}));
  EXPECT_EQ(outputs[1].name, "state_h");
  EXPECT_EQ(outputs[2].name, "state_c");
  EXPECT_EQ(outputs[2].shape, Shape{5});
  EXPECT_EQ(all_outputs("LSTM: 5").size(), 1U);
}

TEST(RecurrentLayers, TakeAStateOfTheirUnits) {
  EXPECT_EQ(refusal("LSTM: 5", {kSequence, {5}, {5}}), "");
  EXPECT_EQ(refusal("LSTM: 5", {kSequence, {5}}), "expected 1 input, or 3 with the initial state, found 2");
  EXPECT_EQ(refusal("LSTM: 5", {kSequence, {5}, {4}}),
            "the initial state_c has one number for each of 5 units, {2} is 4");
  EXPECT_EQ(refusal("LSTM: 5", {{8}}), "expected an input of 2 axes (steps, features), {0} is 8");
}

TEST(RecurrentLayers, RefuseWhatTheyCannotDo) {
  EXPECT_EQ(read_layer("LSTM: {units: 5, stateful: true}").errors,
            "LSTM: stateful must be false: batches are shuffled and divided among replicas, so no sample goes on where "
            "another ended; feed whole sequences, or read and give states with return_state and inputs\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, activation: gelu}").errors,
            "LSTM: activation must be a function whose slope follows from its value, such as tanh, sigmoid or relu; "
            "gelu is none\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, recurrent_activation: softmax}").errors,
            "LSTM: recurrent_activation must be a function whose slope follows from its value, such as tanh, sigmoid "
            "or relu; softmax is none\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, dropout: 1}").errors, "LSTM: dropout must be >= 0 and < 1, found 1\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, unroll: true}").errors, "");
}

TEST(RecurrentLayers, AreRandomWhereTheyDrop) {
  EXPECT_FALSE(is_random(layer_of("LSTM: 5")));
  EXPECT_TRUE(is_random(layer_of("LSTM: {units: 5, dropout: 0.1}")));
  EXPECT_TRUE(is_random(layer_of("LSTM: {units: 5, recurrent_dropout: 0.1}")));
}

TEST(RecurrentLayers, GRU) {
  EXPECT_EQ(output_of("GRU: 5", {kSequence}), Shape{5});
  EXPECT_EQ(refusal("GRU: 5", {kSequence, {5}}), "");
  EXPECT_EQ(weights_of("GRU: 5", {kSequence}),
            "gru_cell/kernel 3x15, gru_cell/recurrent_kernel 5x15, gru_cell/bias 2x15");
  EXPECT_EQ(weights_of("GRU: {units: 5, reset_after: false}", {kSequence}),
            "gru_cell/kernel 3x15, gru_cell/recurrent_kernel 5x15, gru_cell/bias 15");
}

TEST(RecurrentLayers, SimpleRNN) {
  EXPECT_EQ(output_of("SimpleRNN: {units: 5, return_sequences: true}", {kSequence}), (Shape{7, 5}));
  EXPECT_EQ(refusal("SimpleRNN: 5", {kSequence, {5}}), "");
  EXPECT_EQ(weights_of("SimpleRNN: 5", {kSequence}),
            "simple_rnn_cell/kernel 3x5, simple_rnn_cell/recurrent_kernel 5x5, simple_rnn_cell/bias 5");
  const auto outputs = all_outputs("SimpleRNN: {units: 5, return_state: true}");
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[1].name, "state_h");
}

}  // namespace
}  // namespace dptrain::layers
