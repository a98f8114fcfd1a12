#pragma once

// Masks: which steps of a tensor are valid. They follow the data as Keras's do (Layer.compute_mask), unseen by the
// config: nothing names them. Pure functions, any thread.

#include <vector>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::graph {

/// A step is valid where any of these ports (each an output of the layer that made it, OutputDef::is_mask) says so.
/// Sorted, none twice; empty: there is no mask, and every step is valid.
using Mask = std::vector<Port>;

/// Of each node's outputs.
std::vector<std::vector<Mask>> masks(const Graph& graph);
/// The mask of each input that the node's layer uses, from the masks of all nodes before it: that of the tensor it
/// reads. With Node::mask it is that tensor's mask for every input with as many steps, and none for the others.
std::vector<Mask> input_masks(const Graph& graph, const Node& node, const std::vector<std::vector<Mask>>& masks);
/// The mask of the first output of a node whose inputs have these masks. Not for layers that make one
/// (MaskRule::kProduces).
Mask output_mask(const Graph& graph, const Node& node, const std::vector<Mask>& inputs);

/// Reports masks that a layer would heed in Keras and cannot here; warns where a layer loses one, as in Keras.
void check_masks(const Graph& graph, config::Reader& reader);

}  // namespace dptrain::graph
