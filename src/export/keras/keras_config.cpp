#include "export/keras/keras_config.h"

#include <cctype>

#include <nlohmann/json.hpp>

#include "export/keras/keras_layer.h"

namespace dptrain::exporting::keras {
namespace {

/// A name that TensorFlow takes as a name scope: [A-Za-z0-9.][A-Za-z0-9_.-]*.
std::string scope_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  if (name.empty() || name.front() == '_' || name.front() == '-') name.insert(0, "model");
  return name;
}

nlohmann::ordered_json layer_config(const graph::Layer& layer) {
  const nlohmann::ordered_json own = nlohmann::ordered_json::parse(config::to_json(layer_arguments(layer.spec)));
  const LayerForm& form = layer_form(layer.spec);
  if (form.alone) {
    nlohmann::ordered_json config = own;
    config["name"] = layer.name;
    return config;
  }
  nlohmann::ordered_json config{{"name", layer.name}};
  if (form.takes_trainable) config["trainable"] = layer.trainable;
  config["dtype"] = "float32";
  config.update(own);
  return config;
}

/// A tensor: [layer, call, which of its outputs].
nlohmann::ordered_json tensor(const graph::Graph& graph, const graph::Port& port) {
  const graph::Node& producer = graph.nodes[static_cast<std::size_t>(port.node)];
  return nlohmann::ordered_json::array(
      {graph.layers[static_cast<std::size_t>(producer.layer)].name, producer.call, port.port});
}

nlohmann::ordered_json tensors(const graph::Graph& graph, const std::vector<graph::Port>& ports) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const graph::Port& port : ports) list.push_back(tensor(graph, port));
  return list;
}

/// A tensor as Keras 3 has it.
nlohmann::ordered_json keras3_tensor(const graph::Graph& graph, const graph::Port& port) {
  nlohmann::ordered_json shape{nullptr};
  for (const std::int64_t extent : graph::tensor_of(graph, port).shape.dims()) shape.push_back(extent);
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", shape}, {"dtype", "float32"}, {"keras_history", tensor(graph, port)}}}};
}

/// A call in the form of Keras 3 alone: it has no other for inputs that are given by keyword, or one by one.
nlohmann::ordered_json keras3_call(const graph::Graph& graph, const graph::Node& node, const LayerForm& form,
                                   const nlohmann::ordered_json& more) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), keywords = more;
  for (const graph::Port& port : node.inputs) inputs.push_back(keras3_tensor(graph, port));
  if (form.apart) {
    if (inputs.size() == 1) inputs.push_back(inputs.front());
    return {{"args", inputs}, {"kwargs", keywords}};
  }
  keywords[form.keyword] = nlohmann::ordered_json(inputs.begin() + 1, inputs.end());
  return {{"args", {inputs.front()}}, {"kwargs", keywords}};
}

/// The calls of a layer, in order; each a list of [layer, call, output, {}].
nlohmann::ordered_json inbound_nodes(const graph::Graph& graph, int layer) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  const config::Typed& spec = graph.layers[static_cast<std::size_t>(layer)].spec;
  const LayerForm& form = layer_form(spec);
  nlohmann::ordered_json keywords = nlohmann::ordered_json::object();
  for (const std::string& key : call_arguments(spec)) keywords[key] = true;
  for (const graph::Node& node : graph.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    if (form.apart || (node.inputs.size() > 1 && !form.keyword.empty())) {
      calls.push_back(keras3_call(graph, node, form, keywords));
      continue;
    }
    nlohmann::ordered_json call = tensors(graph, node.inputs);
    for (nlohmann::ordered_json& input : call) input.push_back(keywords);
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace

std::string model_config(const graph::Graph& graph) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const int index : graph::keras_order(graph)) {
    const graph::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
    layers.push_back({{"class_name", class_name(layer.spec)},
                      {"name", layer.name},
                      {"config", layer_config(layer)},
                      {"inbound_nodes", inbound_nodes(graph, index)}});
  }
  const nlohmann::ordered_json model{{"name", scope_name(graph.name)},
                                     {"trainable", true},
                                     {"layers", layers},
                                     {"input_layers", tensors(graph, {graph.inputs.begin(), graph.inputs.end()})},
                                     {"output_layers", tensors(graph, graph.outputs)}};
  const nlohmann::ordered_json all{{"class_name", "Functional"}, {"config", model}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dptrain::exporting::keras
