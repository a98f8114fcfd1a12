#pragma once

// Masks: which steps of a tensor are valid. They follow the data as Keras's do (Layer.compute_mask), unseen by the
// config: nothing names them. Pure functions, any thread.

#include <vector>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::graph {

/// A step is valid if it is valid in any of these ports, which are mask outputs of layers (OutputDef::is_mask).
/// Sorted, none twice; empty: there is no mask, and every step is valid.
using Mask = std::vector<Port>;

/// The masks of the outputs of all nodes.
std::vector<std::vector<Mask>> masks(const Graph& graph);
/// The mask of each input that the node's layer uses, from the masks of all nodes before it: that of the tensor it
/// reads. With Node::mask it is that tensor's mask for every input with as many steps, and none for the others.
std::vector<Mask> input_masks(const Graph& graph, const Node& node, const std::vector<std::vector<Mask>>& masks);
/// The masks of the outputs of node `n`, likewise.
std::vector<Mask> output_masks(const Graph& graph, int n, const std::vector<std::vector<Mask>>& masks);

/// Reports masks that a layer would heed in Keras and cannot here; warns where a layer loses one, as in Keras.
void check_masks(const Graph& graph, config::Reader& reader);

}  // namespace dptrain::graph
