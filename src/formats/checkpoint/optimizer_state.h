#pragma once

// Reads an optimizer's slots and steps: from the state of a checkpoint, or from Keras's variables in
// `optimizer_weights` (.h5) and `optimizer/vars` (.keras), docs/reference/keras-files.md. Main thread.

#include <string>

#include "config/typed.h"
#include "formats/compile_config.h"
#include "graph/model.h"

namespace dptrain::formats {

struct FileContents;

/// For an optimizer that trains `model`, whose layers are paired with the file's as for their weights. Throws
/// Error{kCheckpoint} if the file has no optimizer, another one, or one of other weights.
OptimizerState read_optimizer_state(const std::string& path, const config::Typed& optimizer, const graph::Model& model);
OptimizerState read_optimizer_state(const FileContents& contents, const config::Typed& optimizer,
                                    const graph::Model& model);

}  // namespace dptrain::formats
