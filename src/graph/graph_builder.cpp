#include "graph/graph_builder.h"

#include <algorithm>
#include <array>

#include "config/json_fragment.h"
#include "config/reader.h"
#include "config/synonyms.h"
#include "core/format.h"
#include "core/text.h"
#include "graph/expansion.h"
#include "graph/masks.h"
#include "graph/network.h"
#include "graph/weights_spec.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

using config::Reader;

void freeze_pattern(const config::Node& node, Expansion& expansion, Reader& reader) {
  const auto pattern = reader.text(node);
  if (!pattern) return;
  bool matched = false;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < expansion.graph.layers.size(); ++i) {
    Layer& layer = expansion.graph.layers[i];
    names.push_back(layer.name);
    if (!glob_match(*pattern, layer.name) && !glob_match(*pattern, expansion.paths[i])) continue;
    matched = true;
    layer.trainable = false;
  }
  if (!matched) reader.error(node, fmt::format("no layer is called '{}'{}", *pattern, did_you_mean(*pattern, names)));
}

void freeze_up_to(const config::Node& node, Expansion& expansion, Reader& reader) {
  const auto name = reader.text(node);
  if (!name) return;
  const auto found = expansion.names.find(*name);
  if (found == expansion.names.end()) {
    std::vector<std::string> names;
    for (const auto& [other, port] : expansion.names) names.push_back(other);
    reader.error(node, fmt::format("no step is called '{}'{}", *name, did_you_mean(*name, names)));
    return;
  }
  if (found->second.node < 0) return;
  Graph& graph = expansion.graph;
  std::vector<bool> wanted(graph.nodes.size(), false);
  wanted[static_cast<std::size_t>(found->second.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {  // inputs have smaller indices
    if (!wanted[i]) continue;
    graph.layers[static_cast<std::size_t>(graph.nodes[i].layer)].trainable = false;
    for (const Port& input : graph.nodes[i].inputs) wanted[static_cast<std::size_t>(input.node)] = true;
  }
}

/// Sets Layer::trainable. `freeze` is a pattern (block1_*), a list of patterns, or {up_to: name}. Patterns match names
/// of layers with or without those of their blocks. up_to selects the step and all steps that it depends on.
void freeze(const config::Node& raw, Expansion& expansion, Reader& reader) {
  const Reader::Key key(reader, "freeze");
  const config::Node node = reader.substituted(raw);
  if (node.is_null()) return;
  if (node.is_scalar()) return freeze_pattern(node, expansion, reader);
  if (node.is_sequence()) {
    for (const config::Node& pattern : node.items()) freeze_pattern(pattern, expansion, reader);
  } else if (node.entries().size() == 1 && node.entries()[0].key == "up_to") {
    freeze_up_to(node.entries()[0].value, expansion, reader);
  } else {
    reader.error(node, "freeze must be a list of patterns such as block1_*, or {up_to: name}");
  }
}

using config::Reader;

const std::array<std::string, 6> kKeys{"layers", "blocks", "shared", "outputs", "freeze", "weights"};

void check_keys(const config::Node& model, Reader& reader) {
  for (const auto& entry : model.entries())
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end()) {
      const std::string hint = config::hint_for(entry.key, "model", kKeys);
      reader.error(entry.mark, fmt::format("unknown key '{}'{}", entry.key,
                                           hint.empty() ? "; expected one of " + join(kKeys, ", ") : hint));
    }
}

/// The ports named by `outputs`. Node -1: a step whose error has been reported.
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

/// Reports steps that no step reads; Keras would drop them without a message.
void check_dead_steps(const Graph& graph, Reader& reader) {
  std::vector<bool> read(graph.nodes.size(), false);
  for (const Node& node : graph.nodes)
    for (const Port& input : node.inputs) read[static_cast<std::size_t>(input.node)] = true;
  for (const Port& output : graph.outputs) read[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (read[i]) continue;
    const Node& node = graph.nodes[i];
    const Layer& layer = layer_of(graph, node);
    const Reader::Subject subject(reader, fmt::format("{} '{}'", layer.spec.name(), node.name));
    reader.error(
        node.mark,
        "no step reads this one and it is not an output; remove it, or name it in an 'inputs' or in 'outputs'");
  }
}

void check_output_types(const Graph& graph, Reader& reader) {
  for (const Port& output : graph.outputs)
    if (tensor_of(graph, output).type != DType::kF32)
      reader.error(graph.nodes[static_cast<std::size_t>(output.node)].mark,
                   fmt::format("'{}' is {} ids, which cannot be an output of the model", name_of(graph, output),
                               name_of(tensor_of(graph, output).type)));
}

/// Reports steps named like an output of another step ("lstm.state_h").
void check_port_names(const Graph& graph, Reader& reader) {
  std::map<std::string, int> steps;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    steps.emplace(graph.nodes[static_cast<std::size_t>(n)].name, n);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    for (int p = 1; p < static_cast<int>(graph.nodes[static_cast<std::size_t>(n)].outputs.size()); ++p) {
      const std::string name = name_of(graph, {n, p});
      if (const auto other = steps.find(name); other != steps.end())
        reader.error(graph.nodes[static_cast<std::size_t>(other->second)].mark,
                     fmt::format("the name '{}' is already that of an output of '{}'", name,
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

namespace {

using Tree = config::Node;

/// Whether each layer must be written under `shared`: it has several calls, or its step has another name.
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

namespace {

using SchemaTree = config::Node;
namespace fragment = config::fragment;

SchemaTree text() { return fragment::types({"string"}); }
SchemaTree names() { return fragment::any_of({text(), fragment::list(text())}); }

SchemaTree common_arguments() {
  SchemaTree common = SchemaTree::map();
  const auto set = [&](const char* key, SchemaTree value, const char* text) -> SchemaTree& {
    return common.set(key, fragment::described(std::move(value), text));
  };
  set("name", text(),
      "name of the step in `inputs`, messages and checkpoints: letters, digits, `_`, `-` and `.`, at most 200, the "
      "first a letter or digit; default: as in Keras");
  set("inputs", names(), "names of the steps that this one reads; default: the step above");
  set("mask", text(),
      "layers only: step whose mask replaces those of the inputs, or `none`; default: the inputs' masks");
  set("device", text(), "slot of the step, or of all steps of a block; default: the first slot");
  SchemaTree times = fragment::number("integer");
  times.set("minimum", SchemaTree::integer(1));
  set("repeat", std::move(times),
      "n: a chain of n copies with separate weights, `conv1`, `conv2`, ...; after a name that ends in a digit `_1`, "
      "`_2`, ...")
      .set("default", SchemaTree::integer(1));
  set("trainable", fragment::boolean(), "false: freezes the step, or all steps of a block")
      .set("default", SchemaTree::boolean(true));
  set("if", fragment::boolean(), "false: omits the step").set("default", SchemaTree::boolean(true));
  return common;
}

/// Adds the arguments of every step to those of a layer type or network; only layers have `mask`.
void add_common(SchemaTree& arguments, bool is_layer) {
  const SchemaTree common = common_arguments();
  for (const SchemaTree::Entry& entry : common.entries())
    if (is_layer || entry.key != "mask")
      arguments.find("properties")->set(entry.key, fragment::reference("any/properties/" + entry.key));
}

}  // namespace

/// `Type` or `Type: arguments`; lower-case names are blocks and shared layers of the config, `$` a parameter.
void define_steps(config::Node& definitions) {
  SchemaTree types = SchemaTree::map();
  std::vector<std::string> words;
  std::vector<const config::Schema*> schemas;
  for (const config::TypeDef* type : nn::layer_family().types()) schemas.push_back(&type->schema);
  const std::size_t layers = schemas.size();
  for (const auto& [name, network] : networks()) schemas.push_back(&network.schema);
  std::vector<SchemaTree> arguments;
  for (const config::Schema* schema : schemas) arguments.push_back(schema->json_schema());
  config::share_arguments(arguments, "step.arguments", definitions);
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    const std::string& name = schemas[i]->name();
    add_common(arguments[i], i < layers);
    definitions.set("step." + name, config::type_definition(*schemas[i], std::move(arguments[i])));
    types.set(name, fragment::reference("step." + name));
    words.push_back(name);
  }
  SchemaTree one = fragment::object(std::move(types));
  SchemaTree own = SchemaTree::map();
  own.set("^[a-z$]", SchemaTree::map());
  one.set("patternProperties", std::move(own));
  one.set("minProperties", SchemaTree::integer(1));
  one.set("maxProperties", SchemaTree::integer(1));
  SchemaTree name = text();
  name.set("pattern", SchemaTree::text("^[a-z$]"));
  SchemaTree step = fragment::any_of({fragment::one_of_words(words), std::move(name), std::move(one)});
  definitions.set("step", std::move(step));
  // A short name, since every type references it six times.
  definitions.set("any", fragment::object(common_arguments(), true));
}

config::Node json_schema() {
  const SchemaTree steps = fragment::list(fragment::reference("step"));
  SchemaTree block = SchemaTree::map();
  const auto described = fragment::described;
  block.set("inputs", described(names(), "names of the block's inputs in its steps; default: input"));
  block.set("params", described(fragment::types({"object", "null"}),
                                "names of the block's parameters with defaults, or `required`"));
  block.set("layers", described(steps, "steps in order; each reads the one before it unless `inputs` names others"));
  SchemaTree up_to = SchemaTree::map();
  up_to.set("up_to", described(text(), "name of a step: it and all steps before it"));

  SchemaTree sections = SchemaTree::map();
  const auto set = [&](const char* key, SchemaTree value, const char* text) {
    sections.set(key, described(std::move(value), text));
  };
  set("layers", steps, "steps in order; each reads the one before it unless `inputs` names others");
  set("blocks", config::detail::map_schema(fragment::object(std::move(block), false, "layers")),
      "new layer types; every use makes new weights");
  set("shared", fragment::types({"object"}), "layers or chains with one set of weights, which every use shares");
  set("outputs", names(), "steps whose outputs are the model's; each can have a loss; default: the last step");
  set("freeze", fragment::any_of({names(), fragment::object(std::move(up_to), false, "up_to")}),
      "patterns of layers whose weights stay as they are, such as `[block1_*, stem]`, or `{up_to: name}`: that step "
      "and all before it");
  set("weights", fragment::any_of({weights_schema().json_schema(), fragment::types({"string", "null"})}),
      "file with the initial weights of a new training");
  SchemaTree source = SchemaTree::map();
  source.set("file", described(text(), "path of the file, relative to the config's folder"));
  source.set("input_shape", described(fragment::list(fragment::number("integer")),
                                      "[height, width, channels], where the file leaves the shape open"));
  set("from_keras", fragment::any_of({text(), fragment::object(std::move(source), false, "file")}),
      "a Keras `.h5` or `.keras` file in place of `layers`, with `freeze` and `weights` only; `{file: ..., "
      "input_shape: [224, 224, 3]}` if the file leaves the shape open");
  SchemaTree schema = fragment::object(std::move(sections));
  schema.set("oneOf", SchemaTree::sequence({fragment::required("layers"), fragment::required("from_keras")}));
  return schema;
}

}  // namespace dptrain::graph
