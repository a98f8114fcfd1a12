#pragma once

// Expands the steps of a model: blocks and repeats unrolled, shared layers called, names final, shapes inferred.

#include <span>
#include <string>
#include <vector>

#include "config/family.h"
#include "graph/definitions.h"
#include "graph/graph.h"
#include "nn/layer.h"

namespace dptrain::graph {

struct Expansion {
  Graph graph;                     ///< without name and outputs
  std::vector<Port> last;          ///< outputs of the last step
  StepNames names;                 ///< for `outputs`, `freeze` and `weights`
  std::vector<std::string> paths;  ///< per layer: its name without the names of the enclosing blocks
};

/// Reports all errors in the steps; the result is valid only if there were none.
Expansion expand(const config::Node& layers, const Definitions& definitions, config::Reader& reader);

/// The outputs of a layer. Throws nn::LayerError if number, type, rank or extents of the inputs do not fit the layer,
/// or if the result is implausibly large. The message refers to the inputs by `names`.
std::vector<nn::OutputDef> infer(const config::Typed& layer, std::span<const nn::TensorDef> inputs,
                                 std::span<const std::string> names);

}  // namespace dptrain::graph
