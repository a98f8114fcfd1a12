#pragma once

// Builds a Graph from the `model:` section (docs/reference/configuration.md). It is valid only if the reader has
// reported no error.

#include <string>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::graph {

/// `model` is the section's map; `name` the experiment's name.
Graph build(const config::Node& model, const std::string& name, config::Reader& reader);

/// Writes the section as one list of steps with every key, explicit `name` and `inputs`, blocks expanded, and shared
/// layers under `shared:`. build() of the result gives the same graph. `minimal` omits keys with their default values.
config::Node write(const Graph& graph, bool minimal = false);

/// JSON Schema of the section, for `config --schema`.
config::Node json_schema();
/// Adds what json_schema() references: "step", "step.<Type>" with each type's arguments, "any" with those of all.
void define_steps(config::Node& definitions);

}  // namespace dptrain::graph
