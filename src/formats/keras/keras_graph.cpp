#include "formats/keras/keras_graph.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/text.h"
#include "graph/masks.h"
#include "nn/attention.h"

namespace dptrain::formats::keras {

std::string scope_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  if (name.empty() || name.front() == '_' || name.front() == '-') name.insert(0, "model");
  return name;
}

nlohmann::ordered_json layer_config(const graph::Layer& layer, Dialect dialect) {
  const nlohmann::ordered_json own = json_of(layer_arguments(layer.spec, dialect));
  const LayerForm& form = layer_form(layer.spec);
  if (form.has_only_name) {
    nlohmann::ordered_json config = own;
    config["name"] = layer.name;
    return config;
  }
  nlohmann::ordered_json config{{"name", layer.name}};
  if (form.has_trainable) config["trainable"] = layer.trainable;
  config["dtype"] = "float32";
  config.update(own);
  return config;
}

namespace {

/// A tensor: [layer, call, which of its outputs].
nlohmann::ordered_json tensor(const graph::Graph& graph, const graph::Port& port) {
  const graph::Node& producer = graph.nodes[static_cast<std::size_t>(port.node)];
  return nlohmann::ordered_json::array(
      {graph.layers[static_cast<std::size_t>(producer.layer)].name, producer.call, port.port});
}

/// A tensor as Keras 3 has it.
nlohmann::ordered_json keras3_tensor(const graph::Graph& graph, const graph::Port& port) {
  nlohmann::ordered_json shape{nullptr};
  for (const std::int64_t extent : graph::tensor_of(graph, port).shape.dims()) shape.push_back(extent);
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", shape}, {"dtype", "float32"}, {"keras_history", tensor(graph, port)}}}};
}

}  // namespace

void add_call_arguments(const config::Typed& layer, nlohmann::ordered_json& keywords) {
  for (const std::string& key : call_arguments(layer)) {
    if (key == "inference_mode")
      keywords["training"] = false;
    else
      keywords[key] = true;
  }
}

nlohmann::ordered_json tensors(const graph::Graph& graph, const std::vector<graph::Port>& ports) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const graph::Port& port : ports) list.push_back(tensor(graph, port));
  return list;
}

void add_masks(const graph::Graph& graph, int layer, nlohmann::ordered_json& entry) {
  nlohmann::ordered_json masks = nlohmann::ordered_json::array();
  bool some = false;
  for (const graph::Node& node : graph.nodes) {
    if (node.layer != layer) continue;
    some = some || node.mask.has_value();
    masks.push_back(!node.mask            ? nlohmann::ordered_json()
                    : node.mask->node < 0 ? nlohmann::ordered_json("none")
                                          : tensor(graph, *node.mask));
  }
  if (some) entry[kMasks] = std::move(masks);
}

namespace {

/// "'a'", "'a' and 'b'", "'a' and 5 more".
std::string named(const std::vector<std::string>& names) {
  if (names.size() > 2) return fmt::format("'{}' and {} more", names[0], names.size() - 1);
  return "'" + join(names, "' and '") + "'";
}

}  // namespace

std::vector<std::string> masks_advice(const graph::Graph& graph) {
  std::vector<std::string> own, replaced, removed, all;
  const std::vector<std::vector<graph::Mask>> masks = graph::masks(graph);
  const auto has_mask = [&](const graph::Port& port) {
    return !masks[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)].empty();
  };
  for (const graph::Node& node : graph.nodes) {
    const config::Typed& spec = graph.layers[static_cast<std::size_t>(node.layer)].spec;
    const bool has_state = node.inputs.size() > 1 && !layer_form(spec).keyword.empty();
    if (node.mask && !(has_state && node.mask->node < 0))  // Keras 3 uses no mask with a state
      own.push_back(node.name);
    else if (!node.mask && has_state && has_mask(node.inputs.front()))
      replaced.push_back(node.name);
    else if (spec.get_if<nn::MultiHeadAttentionSpec>() != nullptr && std::ranges::any_of(node.inputs, has_mask))
      removed.push_back(node.name);
  }
  if (!own.empty())
    all.push_back(
        fmt::format("opened with Keras, the model can compute something else: Keras has no 'mask' of a layer, "
                    "as of {}",
                    named(own)));
  if (!replaced.empty())
    all.push_back(
        fmt::format("opened with Keras 3, the model computes something else: Keras 3 does not use the mask of "
                    "an input next to an initial state, as of {}",
                    named(replaced)));
  if (!removed.empty())
    all.push_back(
        fmt::format("opened with Keras 3.8 or later, the model can compute something else: they remove the "
                    "masks of the inputs of MultiHeadAttention, as of {}",
                    named(removed)));
  return all;
}

nlohmann::ordered_json keras3_call(const graph::Graph& graph, const graph::Node& node) {
  const config::Typed& spec = graph.layers[static_cast<std::size_t>(node.layer)].spec;
  const LayerForm& form = layer_form(spec);
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), keywords = nlohmann::ordered_json::object();
  add_call_arguments(spec, keywords);
  for (const graph::Port& port : node.inputs) inputs.push_back(keras3_tensor(graph, port));
  if (form.has_separate_inputs) {
    if (inputs.size() == 1) inputs.push_back(inputs.front());
    return {{"args", inputs}, {"kwargs", keywords}};
  }
  if (inputs.size() > 1 && !form.keyword.empty()) {
    keywords[form.keyword] = nlohmann::ordered_json(inputs.begin() + 1, inputs.end());
    inputs = nlohmann::ordered_json::array({inputs.front()});
  } else if (inputs.size() > 1) {
    inputs = nlohmann::ordered_json::array({inputs});
  }
  return {{"args", inputs}, {"kwargs", keywords}};
}

}  // namespace dptrain::formats::keras
