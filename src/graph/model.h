#pragma once

// The Model is the template: the graph and the host's values of its weights, in Keras's layout. Replicas are pushed
// from it and pulled into it; checkpoints know only it. Owned by the trainer; not thread-safe for writing.
//
// A weight need not have values: until something gives it some, it is what its initializer draws, and who wants the
// numbers draws them where he wants them. So a fresh network's weights lie in the replicas alone.

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
  std::vector<float> values;  ///< empty: as the initializer draws it

  /// "conv1/kernel"
  std::string path(const Graph& graph) const {
    return graph.layers[static_cast<std::size_t>(layer)].name + "/" + def.name;
  }
};

struct Model {
  Graph graph;
  std::vector<Weight> weights;  ///< grouped by layer in the order of Graph::layers
  std::uint64_t seed = 0;

  std::int64_t parameters() const;  ///< all elements, statistics included (Keras count_params)
  std::int64_t trainable_parameters() const;
};

/// The graph's weights, all without values.
Model undrawn_model(Graph graph, std::uint64_t seed);
/// Draws every weight that has no values.
void draw(Model& model);
/// Both.
Model make_model(Graph graph, std::uint64_t seed);
/// Writes what the initializer draws to `values`, as many as the weight has: a function of (seed, index of the weight)
/// alone.
void initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index, std::span<float> values);
std::vector<float> initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index);

/// A layer as a table shows it; the calls of a shared layer are gathered in it.
struct SummaryRow {
  std::string name, type;
  std::string shape;  ///< "(None, 28, 28, 1)": Keras counts the batch; of several outputs "[(None, 8), (None, 4)]"
  std::int64_t parameters = 0;
  std::string inputs;  ///< "conv1, conv2"
  int calls = 0;
  bool frozen = false;  ///< it has weights, and they are not trained
};
std::vector<SummaryRow> summary_rows(const Model& model);
/// Keras-shaped table: Layer (type) | Output Shape | Param # | Connected to; frozen and shared marked; totals.
std::string summary(const Model& model);
/// Graphviz: a box for each call of a layer with the sizes of what it gives and its parameters, coloured by what the
/// layer has (kernels, matrices, scales) or does to its input; blocks and networks as clusters; a thick border for
/// outputs.
std::string to_dot(const Model& model);

}  // namespace dptrain::graph
