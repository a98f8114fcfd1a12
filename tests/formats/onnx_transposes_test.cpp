// The pass that removes Transposes, on small graphs.

#include "formats/onnx/transposes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/onnx/onnx_builder.h"

namespace dptrain::formats::onnx {
namespace {

using ::testing::ElementsAre;

class OnnxTransposes : public ::testing::Test {
 protected:
  Builder to_{"test", 17};

  Value image(const std::string& name = "x", Dims dims = {kBatch, 4, 5, 3}) {
    return to_.input(name, dims, Element::kFloat);
  }
  /// An op that requires channels first.
  Value convolved(const Value& x) {
    const Value first = to_.channels_first(x);
    return to_.channels_last(to_.unary("MaxPool", first, {{"kernel_shape", std::vector<std::int64_t>{1, 1}}}));
  }
  Graph passed(const Value& output) {
    to_.graph().outputs = {output};
    cancel_transposes(to_.graph());
    return to_.graph();
  }
  static std::vector<std::string> ops(const Graph& graph) {
    std::vector<std::string> all;
    for (const Node& node : graph.nodes) all.push_back(node.op);
    return all;
  }
  static std::vector<std::int64_t> integers(const Graph& graph, const std::string& name) {
    return std::get<std::vector<std::int64_t>>(graph.constants.at(name).values);
  }
};

TEST_F(OnnxTransposes, PairsCancel) {
  EXPECT_THAT(ops(passed(convolved(convolved(image())))), ElementsAre("Transpose", "MaxPool", "MaxPool", "Transpose"));
}

TEST_F(OnnxTransposes, RemovesASinglePair) {
  const Value x = image();
  const Graph graph = passed(to_.unary("Relu", to_.channels_last(to_.channels_first(x))));
  EXPECT_THAT(ops(graph), ElementsAre("Relu"));
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("x"));
}

TEST_F(OnnxTransposes, RemovesThreeThatCancel) {
  const Value x = image();
  const Graph graph = passed(to_.unary("Relu", to_.channels_first(to_.channels_first(to_.channels_first(x)))));
  EXPECT_EQ(std::ranges::count(ops(graph), "Transpose"), 0) << "[0,3,1,2] three times is the identity";
}

TEST_F(OnnxTransposes, TransposesConstantsOfElementwiseOps) {
  const Value x = convolved(image());
  const Value scaled = to_.binary("Mul", x, to_.floats({3}, {1, 2, 3}));
  const Graph graph = passed(convolved(to_.binary("Add", scaled, to_.scalar(1))));
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "MaxPool", "Mul", "Add", "MaxPool", "Transpose"));
  const Constant& factors = graph.constants.at(graph.nodes[2].inputs[1]);
  EXPECT_THAT(factors.dims, ElementsAre(1, 3, 1, 1));
  EXPECT_THAT(std::get<std::vector<float>>(factors.values), ElementsAre(1, 2, 3));
}

TEST_F(OnnxTransposes, TransposesASmallerInput) {
  const Value gate = image("gate", {kBatch, 1, 1, 3});
  const Graph graph = passed(convolved(to_.binary("Mul", convolved(image()), gate)));
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "MaxPool", "Transpose", "Mul", "MaxPool", "Transpose"));
}

TEST_F(OnnxTransposes, KeepsAnInputOfTheSameSize) {
  const Value x = image();
  const Graph graph = passed(to_.binary("Add", convolved(x), x));
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "MaxPool", "Transpose", "Add"));
}

TEST_F(OnnxTransposes, ConcatAndSoftmaxChangeTheirAxis) {
  const Value x = image();
  const Value all = to_.concat({convolved(x), convolved(to_.unary("Relu", x))}, 3);
  const Graph graph = passed(convolved(to_.activate(all, nn::Activation::kSoftmax)));
  for (const Node& node : graph.nodes)
    if (node.op == "Concat" || node.op == "Softmax") {
      EXPECT_EQ(std::get<std::int64_t>(*node.find("axis")), 1) << node.op;
    }
  EXPECT_EQ(std::ranges::count(ops(graph), "Transpose"), 3) << "two at the inputs, one at the output";
}

TEST_F(OnnxTransposes, ReductionsPadsAndSlicesChangeTheirs) {
  const Value padded = to_.pad(convolved(image()), {1, 2}, {3, 4});
  const Value cut = to_.slice(padded, 1, 0, 2);
  const Graph graph = passed(to_.reduce("ReduceMean", cut, {1, 2}, false));
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "MaxPool", "Pad", "Slice", "ReduceMean"));
  EXPECT_THAT(integers(graph, graph.nodes[2].inputs[1]), ElementsAre(0, 0, 1, 2, 0, 0, 3, 4));
  EXPECT_THAT(integers(graph, graph.nodes[3].inputs[3]), ElementsAre(2));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(*graph.nodes[4].find("axes")), ElementsAre(2, 3));
}

TEST_F(OnnxTransposes, RemovesOneOfSingleExtentsBeforeAReshape) {
  const Value x = convolved(image("x", {kBatch, 1, 1, 3}));
  EXPECT_THAT(ops(passed(to_.reshape(x, {kBatch, 3}))), ElementsAre("Transpose", "MaxPool", "Reshape"));
}

TEST_F(OnnxTransposes, KeepsOthersBeforeAReshape) {
  EXPECT_THAT(ops(passed(to_.reshape(convolved(image()), {kBatch, 60}))),
              ElementsAre("Transpose", "MaxPool", "Transpose", "Reshape"));
}

TEST_F(OnnxTransposes, MergesTwoInTheirOrder) {
  const Graph graph = passed(to_.unary("Relu", to_.transpose(to_.transpose(image(), {0, 2, 1, 3}), {0, 3, 1, 2})));
  EXPECT_THAT(ops(graph), testing::UnorderedElementsAre("Transpose", "Relu"));
  const auto found = std::ranges::find(graph.nodes, "Transpose", &Node::op);
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(*found->find("perm")), ElementsAre(0, 3, 2, 1));
}

TEST_F(OnnxTransposes, WeightsInTwoFormsHaveTwoNames) {
  const auto values = [] { return std::vector<float>{1, 2, 3, 4, 5, 6}; };
  const Value wide = to_.named("w", {2, 3}, values), again = to_.named("w", {2, 3}, values);
  const Value tall = to_.named("w", {3, 2}, values);
  EXPECT_EQ(wide.name, again.name);
  EXPECT_NE(wide.name, tall.name);
  EXPECT_THAT(to_.graph().constants.at(tall.name).dims, ElementsAre(3, 2));
}

TEST(OnnxBuilder, PermutesWeights) {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  EXPECT_THAT(permuted(std::span<const float>(values), {2, 3}, {1, 0}), ElementsAre(0, 3, 1, 4, 2, 5));
  const std::vector<float> cube{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(permuted(std::span<const float>(cube), {2, 2, 2}, {2, 0, 1}), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

}  // namespace
}  // namespace dptrain::formats::onnx
