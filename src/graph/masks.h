#pragma once

// Masks: the valid steps of a tensor. They propagate as in Keras (Layer.compute_mask). Pure functions; any thread.

#include <vector>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::graph {

/// A step is valid if it is in any of these mask outputs (OutputDef::is_mask). Sorted, unique; empty: all are valid.
using Mask = std::vector<Port>;

std::vector<std::vector<Mask>> masks(const Graph& graph);
/// The mask that the node's layer uses for each input, from the masks of all nodes before it. It is that of the tensor
/// read. Node::mask replaces it: its mask applies to inputs with as many steps; the others have no mask.
std::vector<Mask> input_masks(const Graph& graph, const Node& node, const std::vector<std::vector<Mask>>& masks);
/// The masks of the outputs of node `n`, from the masks of all nodes before it.
std::vector<Mask> output_masks(const Graph& graph, int n, const std::vector<std::vector<Mask>>& masks);

/// Reports masks that Keras's layer uses and this version does not. Warns if a layer drops a mask, as in Keras.
void check_masks(const Graph& graph, config::Reader& reader);

}  // namespace dptrain::graph
