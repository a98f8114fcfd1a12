#pragma once

// Removes Transposes between layers that both need channels-first. A Transpose moves past nodes that do not depend on
// the layout (elementwise ops, Concat, reductions, Pad, Slice, Softmax) and adapts their axes. When it reaches another
// Transpose, the two merge or cancel. Nodes without readers are then removed. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/onnx/onnx_graph.h"

namespace dptrain::formats::onnx {

// Moves a Transpose past one node: adapts the node's axes and constants. Owned by the pass that calls it.

/// The replacement of a node.
struct SunkNode {
  std::vector<Node> before{};  ///< Transposes of smaller inputs
  Node node{};
  std::optional<Node> after{};  ///< Transpose with the output of the replaced node
};

class TransposeSinking {
 public:
  /// Adds constants to the graph.
  explicit TransposeSinking(Graph& graph);

  /// The Transpose that makes a value, or null.
  using TransposeOf = std::function<const Node*(const std::string&)>;
  /// Nothing if the node reads no Transpose or depends on the layout.
  std::optional<SunkNode> sink(const Node& node, const TransposeOf& transpose_of);

 private:
  using Perm = std::vector<std::int64_t>;

  std::optional<SunkNode> elementwise(const Node& node, const TransposeOf& transpose_of);
  std::optional<SunkNode> concat(const Node& node, const TransposeOf& transpose_of);
  std::optional<SunkNode> reduction(const Node& node, const Node& transpose);
  std::optional<SunkNode> pad(const Node& node, const Node& transpose);
  std::optional<SunkNode> slice(const Node& node, const Node& transpose);
  std::optional<SunkNode> softmax(const Node& node, const Node& transpose);
  std::optional<SunkNode> reshape(const Node& node, const Node& transpose);

  /// The node with a new output name, followed by a Transpose with the old one.
  SunkNode after(const Node& node, const Perm& perm, std::vector<std::string> inputs);
  /// A constant of an elementwise op of rank perm.size(), in the layout before the Transpose; "" if impossible.
  std::string permuted_constant(const std::string& name, const Perm& perm);
  std::string integers(const std::vector<std::int64_t>& values);
  const std::vector<std::int64_t>* integers_of(const std::string& name) const;
  const Dims* dims_of(const std::string& name) const;

  Graph& graph_;
  int count_ = 0;
};

void cancel_transposes(Graph& graph);

}  // namespace dptrain::formats::onnx
