// Recurrent layers in a graph: their states as inputs and outputs, masks, and initial values of the bias.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/example.h"
#include "graph/masks.h"

namespace dptrain::graph {
namespace {

using ::testing::HasSubstr;

constexpr const char* kEncoderDecoder = R"(
layers:
  - Input: {name: question, shape: [7, 3]}
  - Input: {name: answer, shape: [5, 2]}
  - Masking: {name: valid, inputs: question}
  - LSTM: {name: encoder, units: 4, return_state: true}
  - LSTM: {name: decoder, units: 4, return_sequences: true, inputs: [answer, encoder.state_h, encoder.state_c]}
  - LSTM: {name: last, units: 2}
outputs: [last, encoder.state_c]
)";

TEST(RecurrentGraph, ReadsStatesByName) {
  const Graph graph = graph_of(kEncoderDecoder);
  EXPECT_EQ(wiring(graph),
            "question, answer, valid <- question, encoder <- valid, decoder <- answer encoder.state_h encoder.state_c, "
            "last <- decoder");
  EXPECT_EQ(graph.nodes[4].output(), (Shape{5, 4}));
  expect_round_trip(graph);
}

TEST(RecurrentGraph, TheMaskEndsWithTheSteps) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Masking: {name: valid}
  - LSTM: {name: all, units: 4, return_sequences: true, return_state: true}
  - LSTM: {name: last, units: 4}
)");
  const auto found = masks(graph);
  EXPECT_EQ(found[2][0], (Mask{Port(1, 1)}));
  EXPECT_TRUE(found[2][1].empty());
  EXPECT_TRUE(found[3][0].empty());
}

TEST(RecurrentGraph, RejectsAStateOfOtherUnits) {
  const Built built = build_text(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Input: {name: state, shape: [3]}
  - Dense: {name: wide, units: 5}
  - LSTM: {name: all, units: 4, inputs: [x, wide, wide]}
)");
  EXPECT_THAT(built.errors, HasSubstr("the initial state_h has one number for each of 4 units, wide is 5"));
}

std::vector<float> bias_of(const std::string& arguments) {
  const Graph graph = graph_of("layers:\n  - Input: {name: x, shape: [7, 3]}\n  - LSTM: " + arguments + "\n");
  return initialize(undrawn_model(graph, 1).weights.back().def, 1, 0);
}

TEST(RecurrentGraph, TheBiasOfTheForgetGateIsInitializedToOne) {
  EXPECT_EQ(bias_of("2"), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(bias_of("{units: 1, bias_initializer: {Constant: 3}}"), (std::vector<float>{3, 1, 3, 3}));
  EXPECT_EQ(bias_of("{units: 1, unit_forget_bias: false}"), (std::vector<float>(4, 0)));
}

TEST(RecurrentGraph, WrappersInAGraph) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Masking: {name: valid}
  - TimeDistributed: {name: wide, layer: {Dense: {units: 4, activation: relu}}}
  - Bidirectional: {name: all, layer: {LSTM: {units: 4, return_sequences: true}}, merge_mode: sum}
  - Bidirectional: {name: last, layer: {GRU: 2}}
)");
  EXPECT_EQ(graph.nodes[4].output(), Shape{4});
  const auto found = masks(graph);
  EXPECT_EQ(found[2][0], (Mask{Port(1, 1)}));
  EXPECT_EQ(found[3][0], (Mask{Port(1, 1)}));
  EXPECT_TRUE(found[4][0].empty());
  expect_round_trip(graph);
}

TEST(RecurrentGraph, NoMaskReachesTheLayerOfATimeDistributed) {
  const Built built = build_text(R"(
layers:
  - Input: {name: x, shape: [7, 3, 2]}
  - Masking: {name: valid}
  - TimeDistributed: {name: lines, layer: {LSTM: 4}}
)");
  EXPECT_THAT(built.errors, HasSubstr("its input has the mask of 'valid', which Keras's layer uses"));
}

}  // namespace
}  // namespace dptrain::graph
