#include "export/keras/keras_graph.h"

#include <cctype>

#include <nlohmann/json.hpp>

namespace dptrain::exporting::keras {

std::string scope_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  if (name.empty() || name.front() == '_' || name.front() == '-') name.insert(0, "model");
  return name;
}

nlohmann::ordered_json layer_config(const graph::Layer& layer, Dialect dialect) {
  const nlohmann::ordered_json own =
      nlohmann::ordered_json::parse(config::to_json(layer_arguments(layer.spec, dialect)));
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

nlohmann::ordered_json tensors(const graph::Graph& graph, const std::vector<graph::Port>& ports) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const graph::Port& port : ports) list.push_back(tensor(graph, port));
  return list;
}

nlohmann::ordered_json keras3_call(const graph::Graph& graph, const graph::Node& node) {
  const config::Typed& spec = graph.layers[static_cast<std::size_t>(node.layer)].spec;
  const LayerForm& form = layer_form(spec);
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), keywords = nlohmann::ordered_json::object();
  for (const std::string& key : call_arguments(spec)) keywords[key] = true;
  for (const graph::Port& port : node.inputs) inputs.push_back(keras3_tensor(graph, port));
  if (form.apart) {
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

}  // namespace dptrain::exporting::keras
