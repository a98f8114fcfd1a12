#include "kernels/cpu/reduce.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

/// The sum of [begin, end) as SumTree defines it.
float sum_of(const std::vector<std::vector<float>>& arrays, size_t element, size_t begin, size_t end) {
  if (end - begin == 1) return arrays[begin][element];
  size_t left = 1;
  while (2 * left < end - begin) left *= 2;
  return sum_of(arrays, element, begin, begin + left) + sum_of(arrays, element, begin + left, end);
}

TEST(SumTree, EqualSharesOfAPowerOfTwoAreOneNodeEach) {
  for (const int leaves : {1, 2, 8, 64})
    for (int share = 1; share <= leaves; share *= 2)
      for (int first = 0; first < leaves; first += share)
        EXPECT_EQ(SumTree(leaves).nodes(first, first + share), (std::vector<SumTree::Node>{{first, first + share}}));
}

TEST(SumTree, NodesTileTheirShare) {
  using Nodes = std::vector<SumTree::Node>;
  EXPECT_EQ(SumTree(6).nodes(0, 3), (Nodes{{0, 2}, {2, 3}}));
  EXPECT_EQ(SumTree(6).nodes(3, 6), (Nodes{{3, 4}, {4, 6}}));
  EXPECT_EQ(SumTree(7).nodes(4, 7), (Nodes{{4, 7}}));
  EXPECT_EQ(SumTree(5).nodes(2, 2), Nodes{});
  EXPECT_EQ(SumTree(8).nodes(1, 7), (Nodes{{1, 2}, {2, 4}, {4, 6}, {6, 7}}));
}

TEST(SumTree, ReturnsTheMergesOfNodes) {
  EXPECT_EQ(SumTree(1).merges(), (std::vector<int>{0}));
  EXPECT_EQ(SumTree(4).merges(), (std::vector<int>{0, 1, 0, 2}));
  EXPECT_EQ(SumTree(7).merges(), (std::vector<int>{0, 1, 0, 2, 0, 1, 2}));
  EXPECT_EQ(SumTree::merges({{0, 2}, {2, 3}, {3, 4}, {4, 6}}), (std::vector<int>{0, 0, 2, 1}));
}

/// For any owners of the leaves: each owner adds its nodes, then one adds all nodes.
TEST(SumArrays, BitsAreIndependentOfTheOwnersOfLeaves) {
  constexpr int kLeaves = 7;
  const int64_t n = 77;
  std::vector<std::vector<float>> leaves;
  for (uint32_t leaf = 0; leaf < kLeaves; ++leaf) leaves.push_back(test::random_floats(n, leaf));
  for (const std::vector<int>& cuts : {std::vector<int>{0, 7}, {0, 3, 7}, {0, 1, 2, 6, 7}, {0, 4, 4, 7}}) {
    const SumTree tree(kLeaves);
    std::vector<SumTree::Node> nodes;
    std::vector<std::vector<float>> sums;
    for (size_t owner = 0; owner + 1 < cuts.size(); ++owner)
      for (const SumTree::Node& node : tree.nodes(cuts[owner], cuts[owner + 1])) {
        std::vector<float*> mine;
        std::vector<std::vector<float>> copies(leaves.begin() + node.begin, leaves.begin() + node.end);
        for (std::vector<float>& copy : copies) mine.push_back(copy.data());
        sum_ranks(mine.data(), static_cast<int>(mine.size()), 0, n);
        nodes.push_back(node);
        sums.push_back(copies[0]);
      }
    std::vector<const float*> in;
    for (const std::vector<float>& sum : sums) in.push_back(sum.data());
    std::vector<float> total(n);
    float* const out = total.data();
    sum_arrays(in.data(), SumTree::merges(nodes).data(), static_cast<int>(in.size()), &out, 1, 0, n);
    for (size_t i = 0; i < total.size(); ++i) ASSERT_EQ(total[i], sum_of(leaves, i, 0, kLeaves)) << i;
  }
}

TEST(SumRanks, AddsInTreeOrderAndWritesEveryArray) {
  const int64_t n = kPieceElements + 203;
  for (const int ranks : {1, 2, 3, 7}) {
    for (const auto& range : {std::pair<int64_t, int64_t>{0, n}, {5, 5}, {3, 20}, {17, n - 1}}) {
      const int64_t begin = range.first, end = range.second;
      std::vector<std::vector<float>> inputs;
      for (int rank = 0; rank < ranks; ++rank) inputs.push_back(test::random_floats(n, static_cast<uint32_t>(rank)));
      std::vector<float> sums(inputs[0].size());
      for (size_t i = 0; i < sums.size(); ++i) sums[i] = sum_of(inputs, i, 0, inputs.size());

      test::on_every_target([&] {
        for (const int threads : {1, 3}) {
          test::use_threads(threads);
          std::vector<std::vector<float>> arrays = inputs;
          std::vector<float*> pointers;
          for (std::vector<float>& array : arrays) pointers.push_back(array.data());
          sum_ranks(pointers.data(), ranks, begin, end);
          for (size_t rank = 0; rank < arrays.size(); ++rank)
            for (int64_t i = 0; i < n; ++i) {
              const size_t at = static_cast<size_t>(i);
              ASSERT_EQ(arrays[rank][at], i >= begin && i < end ? sums[at] : inputs[rank][at]) << rank << ", " << i;
            }
        }
        test::use_threads(1);
      });
    }
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
