#pragma once

// Takes away the Transposes between layers that both want the channels behind the batch: a Transpose sinks through what
// does not care for the layout (elementwise ops, Concat, reductions, Pad, Slice, Softmax), whose axes change with it,
// until it meets another one; two make one, or none. What then nobody reads goes, too. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "export/onnx/onnx_graph.h"

namespace dptrain::exporting::onnx {

// How a Transpose sinks through one node: what becomes of the node's axes and constants. Owned by the pass that calls
// it.

/// What takes the place of a node.
struct Sunk {
  std::vector<Node> before{};  ///< Transposes of smaller inputs
  Node node{};
  std::optional<Node> behind{};  ///< gives what the node gave
};

class Sinking {
 public:
  /// Adds constants to the graph.
  explicit Sinking(Graph& graph);

  /// The Transpose that makes a value, or null.
  using TransposeOf = std::function<const Node*(const std::string&)>;
  /// Nothing where the node reads no Transpose, or cares for the layout.
  std::optional<Sunk> sink(const Node& node, const TransposeOf& transpose_of);

 private:
  using Perm = std::vector<std::int64_t>;

  std::optional<Sunk> elementwise(const Node& node, const TransposeOf& transpose_of);
  std::optional<Sunk> concat(const Node& node, const TransposeOf& transpose_of);
  std::optional<Sunk> reduction(const Node& node, const Node& transpose);
  std::optional<Sunk> pad(const Node& node, const Node& transpose);
  std::optional<Sunk> slice(const Node& node, const Node& transpose);
  std::optional<Sunk> softmax(const Node& node, const Node& transpose);
  std::optional<Sunk> reshape(const Node& node, const Node& transpose);

  /// The node under a new name, with a Transpose behind it that has the old one.
  Sunk behind(const Node& node, const Perm& perm, std::vector<std::string> inputs);
  /// A constant of the elementwise op of rank perm.size() on what the Transpose reads; "" where it does not go.
  std::string permuted_constant(const std::string& name, const Perm& perm);
  std::string integers(const std::vector<std::int64_t>& values);
  const std::vector<std::int64_t>* integers_of(const std::string& name) const;
  const Dims* dims_of(const std::string& name) const;

  Graph& graph_;
  int count_ = 0;
};

void cancel_transposes(Graph& graph);

}  // namespace dptrain::exporting::onnx
