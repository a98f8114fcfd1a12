#pragma once

// What the layers' Keras 2 `config` exports share: the one dialect of JSON that Keras 2 and Keras 3 both load
// (docs/keras-files.md). Values are config nodes; config::to_json prints them. Pure functions, any thread.

#include <string>
#include <utility>
#include <vector>

#include "config/node.h"
#include "layers/activation.h"
#include "layers/geometry.h"
#include "layers/initializer.h"
#include "layers/regularizer.h"

namespace dptrain::layers {

constexpr const char* kKerasOps = "keras.ops";  ///< a module of Keras 3 alone

config::Node keras_text(const std::string& text);  ///< always a JSON string
config::Node keras_real(double value);             ///< always with a point or an exponent
config::Node keras_real(float value);
config::Node keras_size(Size2 size);             ///< [h, w]
config::Node keras_extents(const Shape& shape);  ///< [a, b, ...]
config::Node keras_padding(Padding padding);
/// A plain string; a function that Keras 2 calls by the same name as another one is an object of `keras.ops`, which
/// Keras 3 loads and Keras 2, having no such module, refuses.
config::Node keras_activation(Activation activation);
/// A plain string where all parameters are defaults (a dictionary such as {"class_name": "Orthogonal"} is unknown to
/// some releases), else {"class_name", "config"}.
config::Node keras_initializer(const Initializer& initializer);
/// Always the class L1L2, the only one that every release knows; null when absent.
config::Node keras_regularizer(const Regularizer& regularizer);
config::Node keras_channels_last();

/// A JSON object with its keys in this order.
config::Node keras_object(std::vector<std::pair<std::string, config::Node>> entries);

}  // namespace dptrain::layers
