#pragma once

// Values of Keras's `config` maps in the one dialect of JSON that Keras 2 and Keras 3 both load
// (docs/reference/keras-files.md). They are config nodes, which config::to_json prints. Pure functions, any thread.

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/schema.h"
#include "nn/activations.h"
#include "nn/geometry.h"
#include "nn/initializer.h"

namespace dptrain::formats::keras {

constexpr const char* kOps = "keras.ops";  ///< a module that only Keras 3 has

config::Node text(const std::string& text);  ///< always a JSON string
config::Node real(double value);             ///< always with a point or an exponent
config::Node size(Size2 size);               ///< [h, w]
config::Node size(nn::Extent extent);        ///< [n]
config::Node size(nn::Size3 size);           ///< [d, h, w]
config::Node extents(const Shape& shape);    ///< [a, b, ...]
/// A plain string if all parameters are defaults (some releases refuse a dictionary such as {"class_name":
/// "Orthogonal"}), else {"class_name", "config"}.
config::Node initializer(const nn::Initializer& initializer);
config::Node channels_last();

/// The value of a key, in Keras's form.
config::Node value(const config::Field& field, const void* spec);
/// The value in a `.keras`, which only Keras 3 reads: an activation is a plain string there.
config::Node keras3_value(const config::Field& field, const void* spec);

/// A JSON object with its keys in this order.
config::Node object(std::vector<std::pair<std::string, config::Node>> entries);
nlohmann::ordered_json json_of(const config::Node& node);

}  // namespace dptrain::formats::keras
