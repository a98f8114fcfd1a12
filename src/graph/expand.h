#pragma once

// The steps of a model, written out: blocks and repeats unrolled, shared layers called, names final, shapes inferred.

#include <string>
#include <vector>

#include "graph/definitions.h"
#include "graph/graph.h"

namespace dptrain::graph {

struct Expansion {
  Graph graph;                     ///< without name and outputs
  std::vector<Port> last;          ///< outputs of the last step
  StepNames names;                 ///< for `outputs`, `freeze` and `weights`
  std::vector<std::string> paths;  ///< per layer: its name below the names of the blocks it stands in
};

/// Reports everything that is wrong with the steps; the result is only good when nothing was.
Expansion expand(const config::Node& layers, const Definitions& definitions, config::Reader& reader);

}  // namespace dptrain::graph
