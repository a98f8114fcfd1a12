#pragma once

// Converts the `model_config` of a Keras file (Keras 2 and 3, Sequential and Functional, nested models, shared layers)
// to the `model:` section of a config, which graph::build reads and checks. Nested models are flattened and prefix the
// names of their layers. Pure functions; the text is untrusted.

#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "core/shape.h"
#include "formats/keras/keras_masks.h"

namespace dptrain::formats {

struct KerasImport {
  std::string name;
  /// {layers, shared, outputs}
  config::Node model;
  /// One for each step that the Keras that wrote the file can compute differently.
  std::vector<std::string> warnings;
};

/// By the version of Keras in the file. Files of dptrain state a version, too, but have dptrain's meaning.
KerasWriter keras_writer(const std::string& version, bool by_dptrain);

/// `file` is for messages. `input_shape` replaces the shape of the only input. Functions that older writers than Keras
/// 3 define differently are refused. Throws Error{kCheckpoint} that lists all unsupported layers and arguments.
KerasImport import_model_config(const std::string& file, const std::string& model_config,
                                const std::optional<Shape>& input_shape = {}, const KerasWriter& writer = {});
/// From a whole-model .h5 or a .keras.
KerasImport import_model(const std::string& path, const std::optional<Shape>& input_shape = {});

}  // namespace dptrain::formats
