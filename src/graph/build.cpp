#include "graph/build.h"

#include <algorithm>
#include <array>

#include "config/synonyms.h"
#include "core/format.h"
#include "core/text.h"
#include "graph/expand.h"
#include "graph/freeze.h"
#include "graph/masks.h"

namespace dptrain::graph {
namespace {

using config::Reader;

const std::array<std::string, 6> kKeys{"layers", "blocks", "shared", "outputs", "freeze", "weights"};

void check_keys(const config::Node& model, Reader& reader) {
  for (const auto& entry : model.entries())
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end()) {
      const std::string hint = config::hint_for(entry.key, "model", kKeys);
      reader.error(entry.mark, fmt::format("unknown key '{}'{}", entry.key,
                                           hint.empty() ? "; known are " + join(kKeys, ", ") : hint));
    }
}

/// What `outputs` names; of node -1 what is wrong.
std::vector<Port> read_outputs(const config::Node& raw, const Expansion& expansion, Reader& reader) {
  const Reader::Key key(reader, "outputs");
  const config::Node node = reader.substituted(raw);
  if (node.is_null()) return expansion.last;
  std::vector<Port> outputs;
  const auto one = [&](const config::Node& item) {
    const auto name = reader.text(item);
    if (!name) return;
    const Port found = find_port(expansion.graph, expansion.names, *name);
    if (found.node < 0 && !expansion.names.contains(*name)) {
      std::vector<std::string> names;
      for (const auto& [other, port] : expansion.names) names.push_back(other);
      std::string hint = port_hint(expansion.graph, expansion.names, *name);
      if (hint.empty()) hint = did_you_mean(*name, names);
      reader.error(item, fmt::format("no step is called '{}'{}", *name, hint));
    } else if (std::find(outputs.begin(), outputs.end(), found) != outputs.end() && found.node >= 0) {
      reader.error(item, fmt::format("output '{}' is named twice", *name));
    } else {
      outputs.push_back(found);
    }
  };
  if (!node.is_sequence()) {
    one(node);
  } else {
    if (node.items().empty()) reader.expected(node, "at least one name");
    for (const config::Node& item : node.items()) one(item);
  }
  return outputs;
}

/// A step that nothing reads is a slip: Keras would drop it without a word.
void check_dead_steps(const Graph& graph, Reader& reader) {
  std::vector<bool> read(graph.nodes.size(), false);
  for (const Node& node : graph.nodes)
    for (const Port& input : node.inputs) read[static_cast<std::size_t>(input.node)] = true;
  for (const Port& output : graph.outputs) read[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (read[i]) continue;
    const Node& node = graph.nodes[i];
    const Layer& layer = graph.layers[static_cast<std::size_t>(node.layer)];
    const Reader::Subject subject(reader, fmt::format("{} '{}'", layer.spec.name(), node.name));
    reader.error(node.mark,
                 "no step reads this one and it is no output; remove it, or name it in an 'inputs' or in 'outputs'");
  }
}

/// What comes out of a model are floats.
void check_output_types(const Graph& graph, Reader& reader) {
  for (const Port& output : graph.outputs)
    if (tensor_of(graph, output).type != DType::kF32)
      reader.error(graph.nodes[static_cast<std::size_t>(output.node)].mark,
                   fmt::format("'{}' is {} ids, which cannot be an output of the model", name_of(graph, output),
                               name_of(tensor_of(graph, output).type)));
}

/// "lstm.state_h" must mean one thing.
void check_port_names(const Graph& graph, Reader& reader) {
  std::map<std::string, int> steps;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    steps.emplace(graph.nodes[static_cast<std::size_t>(n)].name, n);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    for (int p = 1; p < static_cast<int>(graph.nodes[static_cast<std::size_t>(n)].outputs.size()); ++p) {
      const std::string name = name_of(graph, {n, p});
      if (const auto other = steps.find(name); other != steps.end())
        reader.error(graph.nodes[static_cast<std::size_t>(other->second)].mark,
                     fmt::format("the name '{}' stands for an output of '{}' already", name,
                                 graph.nodes[static_cast<std::size_t>(n)].name));
    }
}

}  // namespace

Graph build(const config::Node& model, const std::string& name, Reader& reader) {
  const Reader::Subject subject(reader, "model");
  const std::size_t errors = reader.diagnostics().errors().size();
  const auto good = [&] { return reader.diagnostics().errors().size() == errors; };
  if (!model.is_map()) {
    reader.error(model, fmt::format("expected a mapping with 'layers', found {}", model.describe()));
    return {};
  }
  check_keys(model, reader);
  const Definitions definitions = read_definitions(model, reader);
  const config::Node* layers = model.find("layers");
  if (layers == nullptr) {
    reader.error(model, "missing key 'layers'");
    return {};
  }
  Expansion expansion = expand(*layers, definitions, reader);
  Graph& graph = expansion.graph;
  graph.name = name;
  const config::Node* outputs = model.find("outputs");
  graph.outputs = read_outputs(outputs != nullptr ? *outputs : config::Node(), expansion, reader);
  if (const config::Node* frozen = model.find("freeze"); frozen != nullptr && good())
    freeze(*frozen, expansion, reader);
  if (good()) check_dead_steps(graph, reader);
  if (good()) check_port_names(graph, reader);
  if (good()) check_output_types(graph, reader);
  if (good()) check_masks(graph, reader);
  for (const auto& entry : model.entries())
    if (entry.key == "weights" && good())
      graph.weights = read_weights(entry.value, entry.mark, graph, expansion.names, reader);
  return good() ? std::move(graph) : Graph();
}

}  // namespace dptrain::graph
