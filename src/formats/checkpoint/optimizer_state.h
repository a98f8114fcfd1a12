#pragma once

// What a file holds of the optimizer that trained its model: slots and the steps done, of a checkpoint from its own
// state, of a file of Keras from the variables that Keras keeps in `optimizer_weights` (.h5) and `optimizer/vars`
// (.keras), docs/keras-files.md. Main thread.

#include <string>

#include "config/typed.h"
#include "formats/compiled.h"
#include "graph/model.h"

namespace dptrain::formats {

struct FileContents;

/// For an optimizer that trains `model`, whose layers are paired with the file's as for their weights. Throws
/// Error{kCheckpoint} that says why not: the file holds no optimizer, another one, or that of other weights.
OptimizerState read_optimizer_state(const std::string& path, const config::Typed& optimizer, const graph::Model& model);
OptimizerState read_optimizer_state(const FileContents& contents, const config::Typed& optimizer,
                                    const graph::Model& model);

}  // namespace dptrain::formats
