#pragma once

// The order in which numbers of many leaves (replicas, shards of a batch) are added: a fixed binary tree. A node over
// [lo, hi) adds a left part, as many leaves as the largest power of two below its size, and the rest. So whoever has
// some neighbouring leaves can add them before he meets the others, as far as whole nodes go, and the sum has the same
// bits wherever the leaves live. Of 2^k leaves in equal shares of 2^j each share is one node. Pure.

#include <cstddef>
#include <vector>

namespace dptrain::kernels {

class SumTree {
 public:
  /// Most leaves; a stack of sums is as deep as their binary logarithm.
  static constexpr int kMost = 1 << 16, kDeepest = 17;

  struct Node {
    int begin = 0, end = 0;  ///< leaves
    bool operator==(const Node&) const = default;
  };

  explicit SumTree(int leaves) : leaves_(leaves) {}

  int leaves() const { return leaves_; }

  /// The largest nodes within [begin, end), in order: what their owner adds alone.
  std::vector<Node> nodes(int begin, int end) const {
    std::vector<Node> found;
    if (leaves_ > 0) collect({0, leaves_}, begin, end, found);
    return found;
  }

  /// How to add values, one of each of these nodes, in order: after value i is pushed on a stack, the two on top are
  /// added merges[i] times. The nodes tile a node of the tree.
  static std::vector<int> merges(const std::vector<Node>& nodes) {
    std::vector<int> all(nodes.size(), 0);
    if (!nodes.empty()) merge(nodes, 0, nodes.size(), all);
    return all;
  }
  /// Of single leaves.
  std::vector<int> merges() const { return merges(nodes_of_leaves()); }

 private:
  static int cut(const Node& node) {
    int left = 1;
    while (2 * left < node.end - node.begin) left *= 2;
    return node.begin + left;
  }

  static void collect(const Node& node, int begin, int end, std::vector<Node>& found) {
    if (end <= node.begin || node.end <= begin) return;
    if (begin <= node.begin && node.end <= end) return found.push_back(node);
    collect({node.begin, cut(node)}, begin, end, found);
    collect({cut(node), node.end}, begin, end, found);
  }

  static void merge(const std::vector<Node>& nodes, std::size_t first, std::size_t last, std::vector<int>& all) {
    if (last - first < 2) return;
    const int middle = cut({nodes[first].begin, nodes[last - 1].end});
    std::size_t right = first;
    while (nodes[right].begin < middle) ++right;
    merge(nodes, first, right, all);
    merge(nodes, right, last, all);
    ++all[last - 1];
  }

  std::vector<Node> nodes_of_leaves() const {
    std::vector<Node> all;
    for (int leaf = 0; leaf < leaves_; ++leaf) all.push_back({leaf, leaf + 1});
    return all;
  }

  int leaves_;
};

}  // namespace dptrain::kernels
