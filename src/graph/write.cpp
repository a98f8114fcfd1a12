#include "graph/build.h"

namespace dptrain::graph {
namespace {

using Tree = config::Node;

const Layer& layer_of(const Graph& graph, const Node& node) {
  return graph.layers[static_cast<std::size_t>(node.layer)];
}

/// Whether the layer must stand under `shared`: called more than once, or by another name than its own.
std::vector<bool> shared_layers(const Graph& graph) {
  std::vector<bool> shared(graph.layers.size(), false);
  for (const Node& node : graph.nodes)
    if (node.call > 0 || node.name != layer_of(graph, node).name) shared[static_cast<std::size_t>(node.layer)] = true;
  return shared;
}

Tree step_of(const std::string& type, Tree arguments) {
  if (arguments.entries().empty()) return Tree::scalar(type);
  Tree step = Tree::map();
  step.set(type, std::move(arguments));
  return step;
}

void add_layer_arguments(Tree& arguments, const Layer& layer, bool minimal) {
  const Tree written = layer.spec.def().schema.write(layer.spec.spec(), minimal);
  for (const Tree::Entry& entry : written.entries()) arguments.set(entry.key, entry.value);
  if (!layer.trainable && nn::type_of(layer.spec).max_inputs != 0) arguments.set("trainable", Tree::boolean(false));
}

Tree names_of(const Graph& graph, const std::vector<Port>& ports) {
  if (ports.size() == 1) return Tree::text(name_of(graph, ports[0]));
  Tree list = Tree::sequence();
  for (const Port& port : ports) list.items().push_back(Tree::text(name_of(graph, port)));
  return list;
}

}  // namespace

config::Node write(const Graph& graph, bool minimal) {
  const std::vector<bool> shared = shared_layers(graph);
  Tree definitions = Tree::map(), steps = Tree::sequence();
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (!shared[i]) continue;
    Tree arguments = Tree::map();
    add_layer_arguments(arguments, graph.layers[i], minimal);
    definitions.set(graph.layers[i].name, step_of(graph.layers[i].spec.name(), std::move(arguments)));
  }
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    const Layer& layer = layer_of(graph, node);
    const bool is_shared = shared[static_cast<std::size_t>(node.layer)];
    Tree arguments = Tree::map();
    arguments.set("name", Tree::text(node.name));
    const bool chained = node.inputs.size() == 1 && node.inputs[0] == Port(i - 1);
    if (!node.inputs.empty() && !(minimal && chained)) arguments.set("inputs", names_of(graph, node.inputs));
    if (node.mask) arguments.set("mask", Tree::text(node.mask->node < 0 ? "none" : name_of(graph, *node.mask)));
    if (!is_shared) add_layer_arguments(arguments, layer, minimal);
    if (!node.device.empty()) arguments.set("device", Tree::text(node.device));
    steps.items().push_back(step_of(is_shared ? layer.name : layer.spec.name(), std::move(arguments)));
  }
  Tree model = Tree::map();
  if (!definitions.entries().empty()) model.set("shared", std::move(definitions));
  model.set("layers", std::move(steps));
  const bool last = graph.outputs == std::vector<Port>{static_cast<int>(graph.nodes.size()) - 1};
  if (!minimal || !last) model.set("outputs", names_of(graph, graph.outputs));
  if (graph.weights) model.set("weights", weights_schema().write(&*graph.weights, minimal));
  return model;
}

}  // namespace dptrain::graph
