// Slots named by a config.

#include "graph/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sample_models.h"

namespace dptrain::graph {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> slots_of(const std::string& layers) { return Slots(test::model_of(layers).graph).names(); }

TEST(Slots, HaveTheOrderOfTheirFirstUse) {
  EXPECT_THAT(slots_of("layers: [{Input: [4]}, {Dense: 3}]"), ElementsAre("gpu:0"));
  EXPECT_THAT(
      slots_of("layers: [{Input: [4]}, {Dense: 3}, {Dense: {units: 3, device: b}}, {Dense: {units: 2, device: a}}]"),
      ElementsAre("b", "a"))
      << "steps without a device are on the first slot";
  EXPECT_THAT(
      slots_of("layers: [{Input: [4]}, {Dense: {units: 3, device: cpu}}, {Dense: {units: 3, device: 'gpu:7'}}]"),
      ElementsAre("gpu:7", "cpu"))
      << "cpu is last";
  EXPECT_THAT(slots_of("layers: [{Input: [4]}, {Dense: {units: 3, device: cpu}}, {Dense: 3}]"),
              ElementsAre("gpu:0", "cpu"))
      << "cpu is never the default slot";
  EXPECT_THAT(slots_of("layers: [{Input: {shape: [4], device: b}}, {Dense: {units: 3, device: cpu}}]"),
              ElementsAre("cpu"))
      << "inputs have none";
}

TEST(Slots, AUseOfABlockAssignsItsSteps) {
  const Graph graph = test::model_of(R"(
blocks: {two: {layers: [{Dense: {name: x, units: 3}}, {Dense: {name: y, units: 3, device: c}}]}}
shared: {enc: {Dense: 4}}
layers:
  - Input: {name: in, shape: [4]}
  - two: {name: left, device: a, repeat: 2}
  - enc: {name: right, inputs: in, device: b}
  - Concatenate: {name: out, inputs: [left2, right]}
)")
                          .graph;
  const Slots slots(graph);
  EXPECT_THAT(slots.names(), ElementsAre("a", "c", "b"));
  std::map<std::string, std::string> of;
  for (const Node& node : graph.nodes) of[node.name] = slots.of(node);
  EXPECT_EQ(of.at("left1_x"), "a");
  EXPECT_EQ(of.at("left2_y"), "c") << "the inner device has priority";
  EXPECT_EQ(of.at("right"), "b");
  EXPECT_EQ(of.at("out"), "a");
}

}  // namespace
}  // namespace dptrain::graph
