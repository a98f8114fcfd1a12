// The order of `model.layers` after Keras has loaded a graph: weights of a file are paired by it.

#include <fstream>
#include <sstream>

#include "core/text.h"
#include "graph/example.h"
#include "support/test_data.h"

namespace dptrain::graph {
namespace {

/// keras.applications.ResNet50, in our language.
std::string resnet50() {
  const std::string main = R"(
      - Conv2D: {name: 1_conv, inputs: input, filters: $filters, kernel_size: 1, strides: $strides}
      - BatchNormalization: {name: 1_bn, epsilon: 1.001e-5}
      - Activation: {name: 1_relu, activation: relu}
      - Conv2D: {name: 2_conv, filters: $filters, kernel_size: 3, padding: same}
      - BatchNormalization: {name: 2_bn, epsilon: 1.001e-5}
      - Activation: {name: 2_relu, activation: relu}
      - Conv2D: {name: 3_conv, filters: 4 * $filters, kernel_size: 1}
      - BatchNormalization: {name: 3_bn, epsilon: 1.001e-5}
)";
  return R"(
blocks:
  first:
    params: {filters: required, strides: 2}
    layers:
      - Conv2D: {name: 0_conv, filters: 4 * $filters, kernel_size: 1, strides: $strides}
      - BatchNormalization: {name: 0_bn, epsilon: 1.001e-5})" +
         main + R"(
      - Add: {name: add, inputs: [0_bn, 3_bn]}
      - Activation: {name: out, activation: relu}
  unit:
    params: {filters: required, strides: 1}
    layers:)" +
         main + R"(
      - Add: {name: add, inputs: [input, 3_bn]}
      - Activation: {name: out, activation: relu}
layers:
  - Input: {shape: [224, 224, 3]}
  - ZeroPadding2D: {name: conv1_pad, padding: 3}
  - Conv2D: {name: conv1_conv, filters: 64, kernel_size: 7, strides: 2}
  - BatchNormalization: {name: conv1_bn, epsilon: 1.001e-5}
  - Activation: {name: conv1_relu, activation: relu}
  - ZeroPadding2D: {name: pool1_pad, padding: 1}
  - MaxPooling2D: {name: pool1_pool, pool_size: 3, strides: 2}
  - first: {name: conv2_block1, filters: 64, strides: 1}
  - unit: {name: conv2_block2, filters: 64}
  - unit: {name: conv2_block3, filters: 64}
  - first: {name: conv3_block1, filters: 128}
  - unit: {name: conv3_block2, filters: 128}
  - unit: {name: conv3_block3, filters: 128}
  - unit: {name: conv3_block4, filters: 128}
  - first: {name: conv4_block1, filters: 256}
  - unit: {name: conv4_block2, filters: 256}
  - unit: {name: conv4_block3, filters: 256}
  - unit: {name: conv4_block4, filters: 256}
  - unit: {name: conv4_block5, filters: 256}
  - unit: {name: conv4_block6, filters: 256}
  - first: {name: conv5_block1, filters: 512}
  - unit: {name: conv5_block2, filters: 512}
  - unit: {name: conv5_block3, filters: 512}
  - GlobalAveragePooling2D: {name: avg_pool}
  - Dense: {name: predictions, units: 1000, activation: softmax}
)";
}

TEST(KerasOrder, ResNet50) {
  const Graph graph = graph_of(resnet50());
  std::ifstream file(dptrain::testing::test_data("golden/ResNet50.csv"));
  std::string line;
  std::getline(file, line);  // head
  std::vector<std::string> names, shapes, weights;
  while (std::getline(file, line)) {
    // i,name,class,inputs,"config, with commas",shape,weights: the last two hold no comma
    const std::vector<std::string> cells = split(line, ',');
    names.push_back(cells[1]);
    shapes.push_back(cells[cells.size() - 2]);
    weights.push_back(cells.back());
  }
  const std::vector<int> order = keras_order(graph);
  ASSERT_EQ(order.size(), names.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Layer& layer = graph.layers[static_cast<std::size_t>(order[i])];
    EXPECT_EQ(layer.name, names[i]) << "place " << i;
    std::string found;
    for (const layers::WeightDef& weight : layers::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs))
      found += (found.empty() ? "" : " ") + weight.name + ":" + weight.shape.str();
    EXPECT_EQ(found, trim(weights[i])) << layer.name;
    for (const Node& node : graph.nodes) {
      if (node.layer == order[i]) {
        EXPECT_EQ(node.output.str(), shapes[i]) << layer.name;
      }
    }
  }
  std::int64_t parameters = 0;
  for (const Layer& layer : graph.layers)
    for (const layers::WeightDef& weight : layers::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs))
      parameters += weight.shape.elements();
  EXPECT_EQ(parameters, 25636712);
  expect_round_trip(graph);
}

TEST(KerasOrder, SharedLayerStandsWhereItsDeepestCallIs) {
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

TEST(KerasOrder, DeepChainsNeedNoDeepStack) {
  const Graph graph = graph_of("layers: [{Input: [4]}, {Activation: {activation: relu, repeat: 19000}}]");
  const std::vector<int> order = keras_order(graph);
  ASSERT_EQ(order.size(), 19001U);
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int>(i));
}

}  // namespace
}  // namespace dptrain::graph
