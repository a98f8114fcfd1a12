#pragma once

// A model from its own description in a Keras file: `model_config` (dialects of Keras 2 and 3, Sequential and
// Functional, models inside of models, shared layers) as the `model:` section of a config, which graph::build then
// reads and checks like any other. Models inside of models become flat, their layers' names prefixed. Pure functions;
// the text may come from anybody.

#include <optional>
#include <string>

#include "config/node.h"
#include "core/shape.h"

namespace dptrain::checkpoint {

struct KerasImport {
  std::string name;    ///< of the model
  config::Node model;  ///< {layers, shared, outputs}
};

/// `file` is only named in messages. `input_shape` stands in for that of the model's one input, whatever the file says.
/// `by_keras3`: a function's name means what it means in Keras 3; else names with another meaning in Keras 2 are
/// refused. Throws Error{kCheckpoint} that names every layer and argument that is not supported.
KerasImport import_model_config(const std::string& file, const std::string& model_config,
                                const std::optional<Shape>& input_shape = {}, bool by_keras3 = false);
/// From a whole-model .h5 or a .keras.
KerasImport import_model(const std::string& path, const std::optional<Shape>& input_shape = {});

}  // namespace dptrain::checkpoint
