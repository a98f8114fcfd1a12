#include "formats/keras/keras_config.h"

#include <nlohmann/json.hpp>

#include "formats/keras/keras_graph.h"

namespace dptrain::formats::keras {
namespace {

/// The calls of a layer, in order; each a list of [layer, call, output, {}].
nlohmann::ordered_json inbound_nodes(const graph::Graph& graph, int layer) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  const config::Typed& spec = graph.layers[static_cast<std::size_t>(layer)].spec;
  const LayerForm& form = layer_form(spec);
  nlohmann::ordered_json keywords = nlohmann::ordered_json::object();
  add_call_arguments(spec, keywords);
  for (const graph::Node& node : graph.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    if (form.apart || (node.inputs.size() > 1 && !form.keyword.empty())) {
      calls.push_back(keras3_call(graph, node));
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
                      {"config", layer_config(layer, Dialect::kKeras2)},
                      {"inbound_nodes", inbound_nodes(graph, index)}});
    add_masks(graph, index, layers.back());
  }
  const nlohmann::ordered_json model{{"name", scope_name(graph.name)},
                                     {"trainable", true},
                                     {"layers", layers},
                                     {"input_layers", tensors(graph, {graph.inputs.begin(), graph.inputs.end()})},
                                     {"output_layers", tensors(graph, graph.outputs)}};
  const nlohmann::ordered_json all{{"class_name", "Functional"}, {"config", model}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dptrain::formats::keras
