#pragma once

// The fixed binary tree in which values of many leaves (replicas, shards of a batch) are added. The left part of a node
// has as many leaves as the largest power of two below the node's size. A rank can first add adjacent leaves that form
// whole nodes, such as 2^j of 2^k leaves. The bits of the sum do not depend on where leaves are. Pure.

#include <cstddef>
#include <vector>

namespace dptrain::kernels {

class SumTree {
 public:
  /// Maximum number of leaves, and depth of the stack for their sums.
  static constexpr int kMax = 1 << 16, kDeepest = 17;

  struct Node {
    int begin = 0, end = 0;  ///< leaves
    bool operator==(const Node&) const = default;
  };

  explicit SumTree(int leaves) : leaves_(leaves) {}

  int leaves() const { return leaves_; }

  /// The largest nodes within [begin, end), in order: the sums that the owner of these leaves can add alone.
  std::vector<Node> nodes(int begin, int end) const {
    std::vector<Node> found;
    if (leaves_ > 0) collect({0, leaves_}, begin, end, found);
    return found;
  }

  /// The schedule for adding one value per node, in order: after value i is pushed on a stack, the top two are added
  /// merges[i] times. The nodes must tile a node of the tree.
  static std::vector<int> merges(const std::vector<Node>& nodes) {
    std::vector<int> all(nodes.size(), 0);
    if (!nodes.empty()) merge(nodes, 0, nodes.size(), all);
    return all;
  }
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
