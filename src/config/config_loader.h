#pragma once

// Parses text to a tree with yaml-cpp. Reports tabs, duplicate keys, unknown anchors and syntax errors with positions,
// applies `<<` and expands aliases within bounds; their nodes have the marks of the definition. After a syntax error
// the tree is null, so check the diagnostics first; an empty file is null without an error. Any thread.

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
/// Applies one `--set a.b.c=value` (value is YAML). A step of the path is a key, an index, or the name of a type. A
/// scalar type becomes a map: `optimizer: adam` + `optimizer.Adam.learning_rate=1`. In a list, the name selects the
/// only item of that type: `callbacks.EarlyStopping.patience=5`. The name may be omitted if there is one type:
/// `optimizer.learning_rate=1`. Creates missing keys; paths in the value are relative to the current directory.
void apply_set(Node& root, const std::string& assignment, Diagnostics& diagnostics);

}  // namespace dptrain::config
