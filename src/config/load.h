#pragma once

// Parses text to a tree with yaml-cpp. Reports tabs, duplicate keys, unknown anchors and syntax errors with positions,
// expands aliases and applies `<<`. Nodes of an alias have the marks of its definition; expansion is bounded against
// "billion laughs". After a syntax error the tree is null, so check the diagnostics first; an empty file is null
// without an error. Any thread.

#include <string>

#include "config/diagnostics.h"
#include "config/node.h"

namespace dptrain::config {

/// Reads a file, or stdin for "-", with paths relative to the current directory. Throws Error{kUsage} if it cannot be
/// opened; errors inside the file are added to `diagnostics`.
Node load_file(const std::string& path, Diagnostics& diagnostics);
/// Reads text; relative paths in it are relative to `directory`.
Node load_text(const std::string& text, const std::string& name, const std::string& directory,
               Diagnostics& diagnostics);
/// Applies one `--set a.b.c=value` (value is YAML). A step of the path is a key of a map, an index of a list, or:
/// - the name of a type, which may be written as a scalar (`optimizer: adam` + `optimizer.Adam.learning_rate=1`);
/// - in a list of types, the only one of that type (`callbacks.EarlyStopping.patience=5`).
/// The type of a single value may be omitted: `optimizer.learning_rate=1`. Missing keys are created, and the schema
/// reports unknown ones with a mark in the assignment. Relative paths in the value are relative to the current
/// directory.
void apply_set(Node& root, const std::string& assignment, Diagnostics& diagnostics);

}  // namespace dptrain::config
