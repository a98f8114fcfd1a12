#pragma once

// Parts that the descriptions of a model in an `.h5` and a `.keras` share: layers' configs, tensors, calls. Pure
// functions, any thread.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "formats/keras/keras_layer.h"
#include "graph/graph.h"

namespace dptrain::formats::keras {

/// The key of a layer's entry that holds the masks of its calls.
constexpr const char* kMasks = "dptrain_masks";

/// A name that TensorFlow accepts as a name scope: [A-Za-z0-9.][A-Za-z0-9_.-]*.
std::string scope_name(std::string name);
/// With its name, and with `trainable` and `dtype` if it has them.
nlohmann::ordered_json layer_config(const graph::Layer& layer, Dialect dialect);
/// A list of [layer, call, which of its outputs].
nlohmann::ordered_json tensors(const graph::Graph& graph, const std::vector<graph::Port>& ports);
/// Adds the layer's keys that are arguments of the call in Keras.
void add_call_arguments(const config::Typed& layer, nlohmann::ordered_json& keywords);
/// Adds the `mask` of the layer's steps under a key that Keras ignores: for each call null, "none" or a tensor. Adds
/// nothing if no step has one.
void add_masks(const graph::Graph& graph, int layer, nlohmann::ordered_json& entry);
/// Sentences for the log: steps that Keras computes differently because of masks.
std::vector<std::string> masks_advice(const graph::Graph& graph);
/// A call as Keras 3 writes it, {"args", "kwargs"}, the only form for inputs by keyword or as separate arguments.
nlohmann::ordered_json keras3_call(const graph::Graph& graph, const graph::Node& node);

}  // namespace dptrain::formats::keras
