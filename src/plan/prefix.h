#pragma once

// The frozen prefix of a graph: everything that inputs alone decide, through layers that neither train nor draw random
// numbers. What comes out of it is the same in every epoch, so it can be computed once (session/prefix_cache.h). Pure
// functions, any thread.

#include <string>
#include <vector>

#include "graph/model.h"

namespace dptrain::plan {

struct FrozenPrefix {
  /// What the rest of the graph reads of the prefix, in the order of nodes; empty: there is no prefix worth the name.
  std::vector<graph::Port> border;
  int layers = 0;             ///< of the prefix, inputs apart
  std::int64_t weights = 0;   ///< numbers in them
  std::int64_t elements = 0;  ///< floats of one sample at the border
  std::string ends;           ///< what ends it: "'conv5', which trains", "'dropout', which is random"
  std::string none;           ///< why there is no prefix: "no frozen layer comes before 'conv1', which trains"
};

FrozenPrefix frozen_prefix(const graph::Model& model);

}  // namespace dptrain::plan
