#pragma once

// The frozen prefix of a graph: nodes that depend only on inputs and on layers that neither train nor draw random
// numbers. Its output is computed once for all epochs (session/prefix_cache.h). Pure functions; any thread.

#include <string>
#include <vector>

#include "graph/model.h"

namespace dptrain::plan {

struct FrozenPrefix {
  /// Outputs of the prefix that the rest of the graph reads, in node order. Empty: no prefix, see `none`.
  std::vector<graph::Port> border;
  int layers = 0;             ///< layers of the prefix, without inputs
  std::int64_t weights = 0;   ///< number of weight elements in them
  std::int64_t elements = 0;  ///< floats per sample at the border
  std::string ends;           ///< the node that ends it: "'conv5', which trains", "'dropout', which is random"
  std::string none;           ///< why there is no prefix: "no frozen layer comes before 'conv1', which trains"
};

FrozenPrefix frozen_prefix(const graph::Model& model);

}  // namespace dptrain::plan
