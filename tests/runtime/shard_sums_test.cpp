#include "runtime/shard_sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "support/tree_sum.h"

namespace dptrain::runtime {
namespace {

/// Numbers of very different magnitude, whose sum depends on the order.
std::vector<StepSums> uneven_parts(int count) {
  RandomStream random(7, 1);
  const auto number = [&] { return random.normal() * std::pow(10.0, random.normal() * 4); };
  std::vector<StepSums> parts;
  for (int i = 0; i < count; ++i)
    parts.push_back({.loss = number(), .outputs = {number(), number()}, .samples = i + 1, .penalty = i == 0 ? 0.3 : 0});
  return parts;
}

TEST(SumSteps, AddsLeavesInTreeOrder) {
  for (const int count : {1, 2, 3, 7, 8}) {
    const std::vector<StepSums> parts = uneven_parts(count);
    const auto part = [&](int i) -> const StepSums& { return parts[static_cast<std::size_t>(i)]; };
    const StepSums sum = sum_steps(parts);
    EXPECT_EQ(sum.loss, test::tree_sum(0, count, [&](int i) { return part(i).loss; }));
    EXPECT_EQ(sum.outputs.at(0), test::tree_sum(0, count, [&](int i) { return part(i).outputs[0]; }));
    EXPECT_EQ(sum.outputs.at(1), test::tree_sum(0, count, [&](int i) { return part(i).outputs[1]; }));
    EXPECT_EQ(sum.samples, count * (count + 1) / 2);
    EXPECT_EQ(sum.penalty, 0.3);
    EXPECT_FALSE(sum.update_skipped);
  }
  EXPECT_EQ(sum_steps(std::vector<StepSums>{}).samples, 0);
}

TEST(SumSteps, OwnersOfSomeLeavesAddThemAlone) {
  constexpr int kLeaves = 6;
  const std::vector<StepSums> parts = uneven_parts(kLeaves);
  const kernels::SumTree tree(kLeaves);
  std::vector<kernels::SumTree::Node> nodes;
  std::vector<StepSums> sums;
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 6}})
    for (const kernels::SumTree::Node& node : tree.nodes(begin, end)) {
      nodes.push_back(node);
      sums.push_back(sum_steps(std::vector<StepSums>(parts.begin() + node.begin, parts.begin() + node.end)));
    }
  EXPECT_EQ(sum_steps(sums, nodes).loss, sum_steps(parts).loss);
}

TEST(SumSteps, ASkippedPartMarksTheSumAsSkipped) {
  std::vector<StepSums> parts = uneven_parts(3);
  parts[2].update_skipped = true;
  EXPECT_TRUE(sum_steps(parts).update_skipped);
}

}  // namespace
}  // namespace dptrain::runtime
