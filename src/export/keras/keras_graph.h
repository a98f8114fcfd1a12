#pragma once

// What the two descriptions of a model, that of an `.h5` and that of a `.keras`, have in common: layers' configs,
// tensors, calls. Pure functions, any thread.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "export/keras/keras_layer.h"
#include "graph/graph.h"

namespace dptrain::exporting::keras {

/// A name that TensorFlow takes as a name scope: [A-Za-z0-9.][A-Za-z0-9_.-]*.
std::string scope_name(std::string name);
/// With its name, `trainable` and `dtype` where it takes them.
nlohmann::ordered_json layer_config(const graph::Layer& layer, Dialect dialect);
/// A list of [layer, call, which of its outputs].
nlohmann::ordered_json tensors(const graph::Graph& graph, const std::vector<graph::Port>& ports);
/// A call as Keras 3 writes it, {"args", "kwargs"}: it has no other form for inputs that are given by keyword, or one
/// by one.
nlohmann::ordered_json keras3_call(const graph::Graph& graph, const graph::Node& node);

}  // namespace dptrain::exporting::keras
