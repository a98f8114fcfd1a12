#pragma once

// A model from its own description in a Keras file: `model_config` (dialects of Keras 2 and 3, Sequential and
// Functional, models inside of models, shared layers) as the `model:` section of a config, which graph::build then
// reads and checks like any other. Models inside of models become flat, their layers' names prefixed. Pure functions;
// the text may come from anybody.

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/keras/keras_masks.h"
#include "config/node.h"
#include "core/shape.h"

namespace dptrain::checkpoint {

struct KerasImport {
  std::string name;                   ///< of the model
  config::Node model;                 ///< {layers, shared, outputs}
  std::vector<std::string> warnings;  ///< where the Keras that wrote the file can compute something else
};

/// By the version of Keras that the file states. dptrain's own files state one, too, but have dptrain's meaning.
KerasWriter keras_writer(const std::string& version, bool by_dptrain);

/// `file` is only named in messages. `input_shape` stands in for that of the model's one input, whatever the file says.
/// Of a `writer` before Keras 3 names of functions with another meaning there are refused. Throws Error{kCheckpoint}
/// that names every layer and argument that is not supported.
KerasImport import_model_config(const std::string& file, const std::string& model_config,
                                const std::optional<Shape>& input_shape = {}, const KerasWriter& writer = {});
/// From a whole-model .h5 or a .keras.
KerasImport import_model(const std::string& path, const std::optional<Shape>& input_shape = {});

}  // namespace dptrain::checkpoint
