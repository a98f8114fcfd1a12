#pragma once

// A model from its own description in a Keras file: `model_config` (dialects of Keras 2 and 3, Sequential and
// Functional, models inside of models, shared layers) as the `model:` section of a config, which graph::build then
// reads and checks like any other. Models inside of models become flat, their layers' names prefixed. Pure functions;
// the text may come from anybody.

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
  /// One for each place where the Keras that wrote the file can compute something else.
  std::vector<std::string> warnings;
};

/// By the version of Keras that the file states. dptrain's own files state one, too, but have dptrain's meaning.
KerasWriter keras_writer(const std::string& version, bool by_dptrain);

/// `file` is only named in messages. `input_shape` replaces the shape of the model's one input. If the writer is older
/// than Keras 3, functions are refused whose names have another meaning there. Throws Error{kCheckpoint} that names
/// every layer and argument that is not supported.
KerasImport import_model_config(const std::string& file, const std::string& model_config,
                                const std::optional<Shape>& input_shape = {}, const KerasWriter& writer = {});
/// From a whole-model .h5 or a .keras.
KerasImport import_model(const std::string& path, const std::optional<Shape>& input_shape = {});

}  // namespace dptrain::formats
