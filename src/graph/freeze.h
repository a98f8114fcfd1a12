#pragma once

// `model.freeze`: which layers keep their weights.

#include "config/reader.h"
#include "graph/expand.h"

namespace dptrain::graph {

/// `freeze` is a list of patterns (`block1_*`, one may stand alone), matched against the names of layers and their
/// names below their blocks, or {up_to: name}: everything that step is computed from, itself included. Sets
/// Layer::trainable.
void freeze(const config::Node& freeze, Expansion& expansion, config::Reader& reader);

}  // namespace dptrain::graph
