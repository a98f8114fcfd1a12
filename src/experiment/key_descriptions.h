#pragma once

// What an editor shows beside a key: the descriptions of the JSON Schema. Keys that mean the same in all types
// (kernel_size) are described once. Pure functions.

#include "config/node.h"

namespace dptrain::experiment {

/// Gives every property of the schema that has no description its own, by "<Type>.<key>" or else by "<key>".
void describe_keys(config::Node& schema);

}  // namespace dptrain::experiment
