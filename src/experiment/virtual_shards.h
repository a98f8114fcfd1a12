#pragma once

// What parallel.virtual_shards goes with. Pure functions, any thread.

#include "config/reader.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Errors at `place`, the key's: a number that is no power of two, and what needs more than its own shard or cuts
/// batches otherwise. `graph` may be null.
void check_virtual_shards(config::Reader& reader, const config::Mark& place, const ConfigFile& file,
                          const graph::Graph* graph);

}  // namespace dptrain::experiment
