#pragma once

// The steps of a model, written out: blocks and repeats unrolled, shared layers called, names final, shapes inferred.

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
  std::vector<std::string> paths;  ///< per layer: its name below the names of the blocks it stands in
};

/// Reports everything that is wrong with the steps; the result is only good when nothing was.
Expansion expand(const config::Node& layers, const Definitions& definitions, config::Reader& reader);

/// The outputs. Throws nn::LayerError when number, type, rank or extents of the inputs do not fit the layer, or
/// when the result is too large to be meant; inputs go by `names` in its message.
std::vector<nn::OutputDef> infer(const config::Typed& layer, std::span<const nn::TensorDef> inputs,
                                 std::span<const std::string> names);

}  // namespace dptrain::graph
