#include <algorithm>
#include <utility>

#include "graph/graph.h"

namespace dptrain::graph {
namespace {

/// Nodes in the post-order of Keras's walk from the outputs, and the order in which layers are first visited.
struct Walk {
  std::vector<int> post;
  std::vector<int> first_visit;  ///< per layer; -1: not visited
};

Walk walk(const Graph& graph) {
  Walk result{{}, std::vector<int>(graph.layers.size(), -1)};
  std::vector<bool> entered(graph.nodes.size(), false);
  struct Frame {
    int node;
    std::size_t next_input;
  };
  std::vector<Frame> stack;  // explicit, since recursion on deep graphs would overflow the call stack
  int visits = 0;
  const auto enter = [&](int node) {
    if (entered[static_cast<std::size_t>(node)]) return;
    entered[static_cast<std::size_t>(node)] = true;
    int& first = result.first_visit[static_cast<std::size_t>(graph.nodes[static_cast<std::size_t>(node)].layer)];
    if (first < 0) first = visits++;
    stack.push_back({node, 0});
  };
  for (const Port& output : graph.outputs) {
    enter(output.node);
    while (!stack.empty()) {
      Frame& top = stack.back();
      const Node& node = graph.nodes[static_cast<std::size_t>(top.node)];
      if (top.next_input < node.inputs.size()) {
        enter(node.inputs[top.next_input++].node);
      } else {
        result.post.push_back(top.node);
        stack.pop_back();
      }
    }
  }
  return result;
}

/// Per layer: the longest path from any of its calls to an output.
std::vector<int> depths(const Graph& graph, const std::vector<int>& post) {
  std::vector<int> of_node(graph.nodes.size(), 0), of_layer(graph.layers.size(), 0);
  for (auto it = post.rbegin(); it != post.rend(); ++it) {
    const Node& node = graph.nodes[static_cast<std::size_t>(*it)];
    int& layer_depth = of_layer[static_cast<std::size_t>(node.layer)];
    const int depth = std::max(of_node[static_cast<std::size_t>(*it)], layer_depth);
    layer_depth = of_node[static_cast<std::size_t>(*it)] = depth;
    for (const Port& producer : node.inputs) {
      int& further = of_node[static_cast<std::size_t>(producer.node)];
      further = std::max(further, depth + 1);
    }
  }
  return of_layer;
}

}  // namespace

std::vector<int> keras_order(const Graph& graph) {
  const Walk walked = walk(graph);
  const std::vector<int> depth = depths(graph, walked.post);
  std::vector<int> order;
  for (int layer = 0; layer < static_cast<int>(graph.layers.size()); ++layer)
    if (walked.first_visit[static_cast<std::size_t>(layer)] >= 0) order.push_back(layer);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const auto key = [&](int layer) {
      return std::pair(-depth[static_cast<std::size_t>(layer)], walked.first_visit[static_cast<std::size_t>(layer)]);
    };
    return key(a) < key(b);
  });
  return order;
}

}  // namespace dptrain::graph
