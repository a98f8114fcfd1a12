#pragma once

// `model:` section -> Graph. Every error goes to the reader's diagnostics with its place; the graph is only good when
// there were none. What a name, a block, `shared`, `repeat`, `if` and `trainable` mean: docs/config.md.

#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::graph {

/// `model` is the section's map; `name` the experiment's name.
Graph build(const config::Node& model, const std::string& name, config::Reader& reader);

/// The section written out: one chain of fully spelled steps (every key, explicit `name` and `inputs`), blocks
/// expanded, shared layers under `shared:`. build() of it gives the same graph. `minimal` leaves out keys that have
/// their defaults.
config::Node write(const Graph& graph, bool minimal = false);

/// JSON Schema of the section, for `config --schema`.
config::Node json_schema();
/// Adds what json_schema() refers to: "step", "step.<Type>" with the arguments of each type, and "any", those that all
/// have.
void define_steps(config::Node& definitions);

}  // namespace dptrain::graph
