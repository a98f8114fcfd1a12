#pragma once

// Text to tree: the only place that knows yaml-cpp. Reports tabs, duplicate keys, unknown anchors and syntax errors
// with positions, expands aliases (copies of text; marks keep the place of the definition, bounded against "billion
// laughs") and applies `<<`. After a syntax error the tree is null, so look at the diagnostics first; an empty file is
// null without an error. Any thread.

#include <string>

#include "config/diagnostics.h"
#include "config/node.h"

namespace dptrain::config {

/// Reads a file, or stdin for "-", whose relative paths are relative to the current directory. Throws Error{kUsage}
/// when it cannot be opened; errors inside it go to `diagnostics`.
Node load_file(const std::string& path, Diagnostics& diagnostics);
/// The same from memory; `directory` is what relative paths are relative to.
Node load_text(const std::string& text, const std::string& name, const std::string& directory,
               Diagnostics& diagnostics);
/// Applies one `--set a.b.c=value` (value is YAML). A path goes through maps by key, through lists by index, and
/// through a scalar type name as if it stood as a map (`optimizer: adam` + `optimizer.Adam.learning_rate=1`); in a list
/// of types the name picks the only one of that type (`callbacks.EarlyStopping.patience=5`). The type may be left out
/// where it stands alone: `optimizer.learning_rate=1` sets that of `optimizer: adam` and of `optimizer: {Adam: {...}}`.
/// Missing keys are created: the schema reports those it does not know, with a mark in the assignment. Relative paths
/// in the value are relative to the current directory.
void apply_set(Node& root, const std::string& assignment, Diagnostics& diagnostics);

}  // namespace dptrain::config
