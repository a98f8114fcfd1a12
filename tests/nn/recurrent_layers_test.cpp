// Shapes, weights and errors of the recurrent layers.

#include "nn/example.h"

namespace dptrain::nn {
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

TEST(RecurrentLayers, ReturnTheirStateByName) {
  const auto outputs = all_outputs("LSTM: {units: 5, return_sequences: true, return_state: true}");
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].shape, (Shape{7, 5}));
  EXPECT_EQ(outputs[1].name, "state_h");
  EXPECT_EQ(outputs[2].name, "state_c");
  EXPECT_EQ(outputs[2].shape, Shape{5});
  EXPECT_EQ(all_outputs("LSTM: 5").size(), 1U);
}

TEST(RecurrentLayers, AcceptAStateOfTheirUnits) {
  EXPECT_EQ(shape_error("LSTM: 5", {kSequence, {5}, {5}}), "");
  EXPECT_EQ(shape_error("LSTM: 5", {kSequence, {5}}), "expected 1 input, or 3 with the initial state, found 2");
  EXPECT_EQ(shape_error("LSTM: 5", {kSequence, {5}, {4}}),
            "the initial state_c has one number for each of 5 units, {2} is 4");
  EXPECT_EQ(shape_error("LSTM: 5", {{8}}), "expected an input of 2 axes (steps, features), {0} is 8");
}

TEST(RecurrentLayers, RejectUnsupportedArguments) {
  EXPECT_EQ(read_layer("LSTM: {units: 5, stateful: true}").errors,
            "LSTM: stateful must be false: batches are shuffled and divided among replicas, so no sample continues "
            "another; feed whole sequences, or pass states with return_state and inputs\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, activation: gelu}").errors,
            "LSTM: activation must be a function whose derivative follows from its value, such as tanh, sigmoid or "
            "relu; gelu is not\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, recurrent_activation: softmax}").errors,
            "LSTM: recurrent_activation must be a function whose derivative follows from its value, such as tanh, "
            "sigmoid or relu; softmax is not\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, dropout: 1}").errors, "LSTM: dropout must be >= 0 and < 1, found 1\n");
  EXPECT_EQ(read_layer("LSTM: {units: 5, unroll: true}").errors, "");
}

TEST(RecurrentLayers, AreRandomWithDropout) {
  EXPECT_FALSE(is_random(layer_of("LSTM: 5")));
  EXPECT_TRUE(is_random(layer_of("LSTM: {units: 5, dropout: 0.1}")));
  EXPECT_TRUE(is_random(layer_of("LSTM: {units: 5, recurrent_dropout: 0.1}")));
}

TEST(RecurrentLayers, GRU) {
  EXPECT_EQ(output_of("GRU: 5", {kSequence}), Shape{5});
  EXPECT_EQ(shape_error("GRU: 5", {kSequence, {5}}), "");
  EXPECT_EQ(weights_of("GRU: 5", {kSequence}),
            "gru_cell/kernel 3x15, gru_cell/recurrent_kernel 5x15, gru_cell/bias 2x15");
  EXPECT_EQ(weights_of("GRU: {units: 5, reset_after: false}", {kSequence}),
            "gru_cell/kernel 3x15, gru_cell/recurrent_kernel 5x15, gru_cell/bias 15");
}

TEST(RecurrentLayers, SimpleRNN) {
  EXPECT_EQ(output_of("SimpleRNN: {units: 5, return_sequences: true}", {kSequence}), (Shape{7, 5}));
  EXPECT_EQ(shape_error("SimpleRNN: 5", {kSequence, {5}}), "");
  EXPECT_EQ(weights_of("SimpleRNN: 5", {kSequence}),
            "simple_rnn_cell/kernel 3x5, simple_rnn_cell/recurrent_kernel 5x5, simple_rnn_cell/bias 5");
  const auto outputs = all_outputs("SimpleRNN: {units: 5, return_state: true}");
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[1].name, "state_h");
}

TEST(Bidirectional, ShapesAndWeights) {
  EXPECT_EQ(output_of("Bidirectional: {layer: {LSTM: 5}}", {kSequence}), Shape{10});
  EXPECT_EQ(output_of("Bidirectional: {layer: {GRU: {units: 5, return_sequences: true}}}", {kSequence}),
            (Shape{7, 10}));
  EXPECT_EQ(output_of("Bidirectional: {layer: {SimpleRNN: 5}, merge_mode: mul}", {kSequence}), Shape{5});
  EXPECT_EQ(weights_of("Bidirectional: {layer: {LSTM: 5}}", {kSequence}),
            "forward_lstm/lstm_cell/kernel 3x20, forward_lstm/lstm_cell/recurrent_kernel 5x20, "
            "forward_lstm/lstm_cell/bias 20, backward_lstm/lstm_cell/kernel 3x20, "
            "backward_lstm/lstm_cell/recurrent_kernel 5x20, backward_lstm/lstm_cell/bias 20");
  EXPECT_EQ(weights_of("Bidirectional: {layer: {SimpleRNN: {units: 2, use_bias: false}}}", {kSequence}),
            "forward_simple_rnn/simple_rnn_cell/kernel 3x2, forward_simple_rnn/simple_rnn_cell/recurrent_kernel 2x2, "
            "backward_simple_rnn/simple_rnn_cell/kernel 3x2, backward_simple_rnn/simple_rnn_cell/recurrent_kernel 2x2");
}

TEST(Bidirectional, StatesOfBothDirections) {
  const auto outputs = all_outputs("Bidirectional: {layer: {LSTM: {units: 5, return_state: true}}, merge_mode: sum}");
  ASSERT_EQ(outputs.size(), 5U);
  EXPECT_EQ(outputs[0].shape, Shape{5});
  EXPECT_EQ(outputs[1].name, "forward_state_h");
  EXPECT_EQ(outputs[4].name, "backward_state_c");
  const std::string gru = "Bidirectional: {layer: {GRU: 5}}";
  EXPECT_EQ(shape_error(gru, {kSequence, {5}, {5}}), "");
  EXPECT_EQ(shape_error(gru, {kSequence, {5}}),
            "expected 1 input, or 3 with the initial states of both directions, found 2");
  EXPECT_EQ(shape_error(gru, {kSequence, {5}, {4}}), "an initial state has one number for each of 5 units, {2} is 4");
  EXPECT_EQ(shape_error(gru, {{8}}), "expected an input of 2 axes (steps, features), {0} is 8");
}

TEST(RecurrentLayers, ConvLSTM2D) {
  const Shape frames{4, 8, 6, 3};
  EXPECT_EQ(output_of("ConvLSTM2D: {filters: 5, kernel_size: 3}", {frames}), (Shape{6, 4, 5}));
  EXPECT_EQ(output_of("ConvLSTM2D: {filters: 5, kernel_size: 3, padding: same, strides: 2, return_sequences: true}",
                      {frames}),
            (Shape{4, 4, 3, 5}));
  EXPECT_EQ(weights_of("ConvLSTM2D: {filters: 5, kernel_size: [2, 3]}", {frames}),
            "conv_lstm_cell/kernel 2x3x3x20, conv_lstm_cell/recurrent_kernel 2x3x5x20, conv_lstm_cell/bias 20");
  const Shape state{6, 4, 5};
  EXPECT_EQ(shape_error("ConvLSTM2D: {filters: 5, kernel_size: 3}", {frames, state, state}), "");
  EXPECT_EQ(shape_error("ConvLSTM2D: {filters: 5, kernel_size: 3}", {frames, state, {6, 4, 4}}),
            "the initial state is 6x4x5, {2} is 6x4x4");
  EXPECT_EQ(shape_error("ConvLSTM2D: {filters: 5, kernel_size: 3}", {kSequence}),
            "expected an input of 4 axes (steps, height, width, channels), {0} is 7x3");
}

TEST(TimeDistributed, ShapesAndWeights) {
  EXPECT_EQ(output_of("TimeDistributed: {layer: {Dense: 5}}", {kSequence}), (Shape{7, 5}));
  EXPECT_EQ(weights_of("TimeDistributed: {layer: {Dense: 5}}", {kSequence}), "kernel 3x5, bias 5");
  EXPECT_EQ(output_of("TimeDistributed: {Dense: {units: 5}}", {kSequence}), (Shape{7, 5}));
  EXPECT_EQ(output_of("TimeDistributed: Flatten", {{4, 8, 6, 3}}), (Shape{4, 144}));
  EXPECT_EQ(output_of("TimeDistributed: {layer: {MaxPooling2D: 2}}", {{4, 8, 6, 3}}), (Shape{4, 4, 3, 3}));
  EXPECT_EQ(output_of("TimeDistributed: {layer: Flatten}", {{4, 8, 6, 3}}), (Shape{4, 144}));
  EXPECT_EQ(output_of("TimeDistributed: {layer: {TimeDistributed: {layer: {LSTM: 2}}}}", {{4, 8, 6, 3}}),
            (Shape{4, 8, 2}));
  EXPECT_EQ(activation_of(layer_of("TimeDistributed: {layer: {Dense: {units: 5, activation: relu}}}")),
            Activation::kRelu);
  EXPECT_TRUE(is_random(layer_of("TimeDistributed: {layer: {Dropout: 0.5}}")));
}

TEST(TimeDistributed, RejectsUnsupportedLayers) {
  EXPECT_EQ(read_layer("TimeDistributed: {layer: Add}").errors,
            "TimeDistributed: layer must be a layer of one input, Add takes several\n");
  EXPECT_EQ(read_layer("TimeDistributed: {layer: {Input: {shape: [2]}}}").errors,
            "TimeDistributed: layer must be a layer of one input, Input has none\n");
  EXPECT_EQ(read_layer("TimeDistributed: {layer: {Embedding: {input_dim: 3, output_dim: 2}}}").errors,
            "TimeDistributed: layer must be a layer of numbers; Embedding takes ids of any shape without "
            "TimeDistributed\n");
  EXPECT_EQ(shape_error("TimeDistributed: {layer: Masking}", {{4, 8, 3}}),
            "Masking makes a mask of all axes: use it without TimeDistributed");
  EXPECT_EQ(shape_error("TimeDistributed: {layer: {LSTM: {units: 5, return_state: true}}}", {{4, 8, 3}}),
            "LSTM must have one output, not 3");
  EXPECT_EQ(shape_error("TimeDistributed: {layer: {Conv2D: {filters: 2, kernel_size: 3}}}", {{4, 8, 3}}),
            "Conv2D expects an input of 3 axes, each step of {0} is 8x3");
  EXPECT_EQ(shape_error("TimeDistributed: {layer: Flatten}", {{4}}), "expected steps of 1 axis or more, {0} is 4");
}

TEST(Bidirectional, RejectsUnsupportedLayers) {
  EXPECT_EQ(read_layer("Bidirectional: {LSTM: 5}").errors, "");
  EXPECT_EQ(read_layer("Bidirectional: {layer: {LSTM: 5}, backward_layer: {LSTM: 5}}").errors,
            "Bidirectional: unknown argument 'backward_layer'; both directions have the settings of 'layer', each with "
            "weights of its own\n");
  EXPECT_EQ(read_layer("Bidirectional: {layer: {Dense: 5}}").errors,
            "Bidirectional: layer must be LSTM, GRU or SimpleRNN, found Dense\n");
  EXPECT_EQ(read_layer("Bidirectional: {layer: {LSTM: {units: 5, go_backwards: true}}}").errors,
            "Bidirectional: layer must not be backwards: the wrapper adds that direction; remove go_backwards\n");
  EXPECT_EQ(read_layer("Bidirectional: {layer: {LSTM: {units: 5, name: inner}}}").errors.substr(0, 68),
            "Bidirectional: LSTM: unknown argument 'name'; expected one of units,");
  EXPECT_EQ(read_layer("Bidirectional: {layer: {LSTM: 5}, merge_mode: null}").errors,
            "Bidirectional: merge_mode must be concat, sum, mul or ave, found nothing\n");
  EXPECT_TRUE(is_random(layer_of("Bidirectional: {layer: {LSTM: {units: 5, dropout: 0.1}}}")));
}

}  // namespace
}  // namespace dptrain::nn
