#pragma once

// `model: {from_keras: model.h5}`: the layers come from the file's own description, the weights from the same file
// unless `weights` says otherwise. What the rest of the program sees is an ordinary `model:` section. Main thread.

#include <optional>
#include <string>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// The section with `layers` in place of `from_keras`; as it is where that key is absent, and after reporting. Throws
/// Error{kCheckpoint} for a file that cannot be read or holds what is not supported.
config::Node with_keras_layers(const config::Node& model, config::Reader& reader);

/// The graph of a Keras file, its weights to come from there. Throws Error{kCheckpoint, kUsage}.
graph::Graph keras_graph(const std::string& path, const std::optional<Shape>& input_shape);

}  // namespace dptrain::experiment
