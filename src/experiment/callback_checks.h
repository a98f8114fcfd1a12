#pragma once

// What callbacks name, against what the config makes known: values to monitor and to put into names of files, and files
// themselves. Found when a config is read, not when an epoch is over. Pure.

#include <string>

#include "config/reader.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Reports at each callback's place, one error each. `graph`: its one output decides the names of the metrics; null
/// where it could not be built or where nothing will call the callbacks: then what they name is not looked up.
void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph);

/// Whether a path leads to a file below the folder that it starts from: relative, with a name, without "..".
bool stays_inside(const std::string& path);

}  // namespace dptrain::experiment
