#pragma once

// The Model: the graph and the host's values of its weights, in Keras's layout. Weights are pushed to replicas and
// pulled from them; checkpoints contain the Model only. Owned by the trainer; not thread-safe for writing.
//
// A weight may have no values: replicas then draw them with its initializer into their own memory.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace dptrain::graph {

struct Weight {
  int layer = 0;  ///< index into Graph::layers
  nn::WeightDef def;
  bool trainable = true;      ///< the layer is trainable and the weight is not a statistic
  std::vector<float> values;  ///< empty: those that the initializer draws

  /// "conv1/kernel"
  std::string path(const Graph& graph) const {
    return graph.layers[static_cast<std::size_t>(layer)].name + "/" + def.name;
  }
};

struct Model {
  Graph graph;
  std::vector<Weight> weights;  ///< grouped by layer in the order of Graph::layers
  std::uint64_t seed = 0;

  std::int64_t parameters() const;  ///< number of weight elements, including statistics (Keras count_params)
  std::int64_t trainable_parameters() const;
};

/// A model whose weights have no values.
Model undrawn_model(Graph graph, std::uint64_t seed);
/// Draws every weight that has no values.
void draw(Model& model);
/// undrawn_model() and draw().
Model make_model(Graph graph, std::uint64_t seed);
/// Draws the initial values; `values` has the weight's size. The result depends only on (seed, index of the weight).
void initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index, std::span<float> values);
std::vector<float> initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index);

/// A row of the summary table: a layer with all its calls.
struct SummaryRow {
  std::string name, type;
  std::string shape;  ///< "(None, 28, 28, 1)", with the batch as in Keras; several outputs: "[(None, 8), (None, 4)]"
  std::int64_t parameters = 0;
  std::string inputs;  ///< "conv1, conv2"
  int calls = 0;
  bool frozen = false;  ///< whether it has weights that are not trained
};
std::vector<SummaryRow> summary_rows(const Model& model);
/// Keras-shaped table: Layer (type) | Output Shape | Param # | Connected to; frozen and shared marked; totals.
std::string summary(const Model& model);
/// Graphviz text: calls of layers are boxes with shapes, coloured by kind; blocks and networks are clusters.
std::string to_dot(const Model& model);

}  // namespace dptrain::graph
