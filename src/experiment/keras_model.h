#pragma once

// `model: {from_keras: model.h5}`: takes the layers from the file, and the weights too unless `weights` names another
// file. The result is an ordinary `model:` section. Main thread.

#include <optional>
#include <string>

#include "config/reader.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Replaces `from_keras` by `layers`; returns the section unchanged without that key or after reporting. Throws
/// Error{kCheckpoint} for a file that cannot be read or has unsupported contents.
config::Node with_keras_layers(const config::Node& model, config::Reader& reader);

/// The graph of a Keras file, whose weights are to be loaded from it. Throws Error{kCheckpoint, kUsage}.
graph::Graph keras_graph(const std::string& path, const std::optional<Shape>& input_shape);

}  // namespace dptrain::experiment
