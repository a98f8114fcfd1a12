#include "export/keras3/keras3_config.h"

#include <nlohmann/json.hpp>

#include "export/keras/keras_graph.h"

namespace dptrain::exporting::keras {
namespace {

using Json = nlohmann::ordered_json;

/// A class that Keras does not have is found by the name that it is registered by.
Json layer_entry(const graph::Graph& graph, int index) {
  const graph::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
  const std::string name = class_name(layer.spec);
  const bool custom = !layer_form(layer.spec).custom_objects.empty();
  Json calls = Json::array();
  for (const graph::Node& node : graph.nodes)
    if (node.layer == index && !node.inputs.empty()) calls.push_back(keras3_call(graph, node));
  Json entry{{"module", custom ? Json() : Json("keras.layers")},
             {"class_name", name.substr(name.find('>') + 1)},
             {"config", layer_config(layer, Dialect::kKeras3)},
             {"registered_name", custom ? Json(name) : Json()},
             {"name", layer.name},
             {"inbound_nodes", calls}};
  add_masks(graph, index, entry);
  return entry;
}

}  // namespace

std::string keras3_config(const graph::Graph& graph, const Compiled& compiled) {
  Json layers = Json::array();
  for (const int index : graph::keras_order(graph)) layers.push_back(layer_entry(graph, index));
  const Json model{{"name", scope_name(graph.name)},
                   {"trainable", true},
                   {"layers", layers},
                   {"input_layers", tensors(graph, {graph.inputs.begin(), graph.inputs.end()})},
                   {"output_layers", tensors(graph, graph.outputs)}};
  Json all{{"module", "keras.src.models.functional"},
           {"class_name", "Functional"},
           {"config", model},
           {"registered_name", "Functional"},
           {"build_config", {{"input_shape", nullptr}}}};
  if (const Json compile = compile_config(compiled); !compile.is_null()) all["compile_config"] = compile;
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string keras3_metadata() {
  const Json metadata{{"keras_version", "3.0.0"}, {"written_by", "dptrain"}};
  return metadata.dump();
}

}  // namespace dptrain::exporting::keras
