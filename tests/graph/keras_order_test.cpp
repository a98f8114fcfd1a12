// The order of `model.layers` after Keras has loaded a graph, which pairs the weights of a file.
// tests/formats/network_test.cpp covers whole networks.

#include "graph/example.h"

namespace dptrain::graph {
namespace {

TEST(KerasOrder, SharedLayersHaveThePositionOfTheirDeepestCall) {
  const Graph graph = graph_of(R"(
shared: {enc: {Dense: {units: 4}}}
layers:
  - Input: {name: left, shape: [4]}
  - Input: {name: right, shape: [4]}
  - enc: {name: a, inputs: left}
  - Activation: {name: twist, activation: relu, inputs: right}
  - enc: {name: b}
  - Concatenate: {name: merge, inputs: [a, b]}
)");
  std::string names;
  for (const int layer : keras_order(graph)) names += graph.layers[static_cast<std::size_t>(layer)].name + " ";
  // Depths: merge 0, enc 1, twist 2, left 2, right 3.
  EXPECT_EQ(names, "right left twist enc merge ");
}

TEST(KerasOrder, DeepChainsDoNotOverflowTheStack) {
  const Graph graph = graph_of("layers: [{Input: [4]}, {Activation: {activation: relu, repeat: 19000}}]");
  const std::vector<int> order = keras_order(graph);
  ASSERT_EQ(order.size(), 19001U);
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int>(i));
}

}  // namespace
}  // namespace dptrain::graph
