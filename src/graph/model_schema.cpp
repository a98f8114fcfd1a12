// The JSON Schema of the `model:` section.

#include "config/json_fragment.h"
#include "graph/build.h"
#include "graph/network.h"
#include "graph/weights_spec.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

using SchemaTree = config::Node;
namespace fragment = config::fragment;

SchemaTree object(SchemaTree properties, bool open) {
  SchemaTree schema = fragment::types({"object"});
  schema.set("properties", std::move(properties));
  schema.set("additionalProperties", SchemaTree::boolean(open));
  return schema;
}

SchemaTree text() { return fragment::types({"string"}); }
SchemaTree names() { return fragment::any_of({text(), fragment::list(text())}); }

/// Arguments of every step, next to those of its type.
SchemaTree common_arguments() {
  SchemaTree common = SchemaTree::map();
  const auto set = [&](const char* key, SchemaTree value, const char* text) {
    common.set(key, fragment::described(std::move(value), text));
  };
  set("name", text(), "name of the layer in `inputs`, messages and checkpoints; default: from its type");
  set("inputs", names(), "names of the steps that this one reads");
  set("mask", text(), "step whose mask the layer uses in place of those of its inputs, or none");
  set("device", text(), "slot of the replica that the step runs in; default: the first");
  SchemaTree times = fragment::number("integer");
  times.set("minimum", SchemaTree::integer(1));
  set("repeat", std::move(times), "number of such steps in a chain, with weights of their own");
  set("trainable", fragment::boolean(), "false: the weights stay as they are");
  set("if", fragment::boolean(), "leave the step out where this is false");
  return common;
}

/// The arguments of one layer type or network: its own and those of every step; layers have `mask`, too.
SchemaTree arguments(const config::Schema& type, bool is_layer) {
  SchemaTree schema = type.json_schema();
  SchemaTree common = common_arguments();
  if (!is_layer) common.erase("mask");
  for (const SchemaTree::Entry& entry : common.entries())
    schema.find("properties")->set(entry.key, fragment::reference("any/properties/" + entry.key));
  std::vector<SchemaTree> choices{std::move(schema), fragment::types({"null"})};
  for (const config::Field& field : type.fields())
    if (field.positional) choices.push_back(field.schema());
  return fragment::any_of(std::move(choices));
}

}  // namespace

/// `Type` or `Type: arguments`; names that start lower-case are blocks and shared layers of the file itself.
void define_steps(config::Node& definitions) {
  SchemaTree types = SchemaTree::map();
  std::vector<std::string> words;
  const auto add = [&](const std::string& name, const config::Schema& schema, bool is_layer) {
    definitions.set("step." + name, arguments(schema, is_layer));
    types.set(name, fragment::reference("step." + name));
    words.push_back(name);
  };
  for (const config::TypeDef* type : nn::layer_family().types()) add(type->name, type->schema, true);
  for (const auto& [name, network] : networks()) add(name, network.schema, false);
  SchemaTree one = object(std::move(types), false);
  SchemaTree own = SchemaTree::map();
  own.set("^[a-z]", SchemaTree::map());
  one.set("patternProperties", std::move(own));
  one.set("minProperties", SchemaTree::integer(1));
  one.set("maxProperties", SchemaTree::integer(1));
  SchemaTree name = text();
  name.set("pattern", SchemaTree::text("^[a-z]"));
  SchemaTree step = fragment::any_of({fragment::one_of_words(words), std::move(name), std::move(one)});
  definitions.set("step", std::move(step));
  definitions.set("any", object(common_arguments(), true));  // a short name: every type refers to it six times
}

config::Node json_schema() {
  const SchemaTree steps = fragment::list(fragment::reference("step"));
  SchemaTree block = SchemaTree::map();
  const auto described = fragment::described;
  block.set("inputs", described(names(), "names of the block's inputs in its steps; default: input"));
  block.set("params", described(fragment::types({"object", "null"}),
                                "names of the block's parameters with defaults, or `required`"));
  block.set("layers", described(steps, "steps in order; each reads the one before it unless `inputs` names others"));
  SchemaTree blocks = fragment::types({"object"});
  blocks.set("additionalProperties", object(std::move(block), false));
  SchemaTree up_to = SchemaTree::map();
  up_to.set("up_to", described(text(), "this step and all before it"));

  SchemaTree sections = SchemaTree::map();
  const auto set = [&](const char* key, SchemaTree value, const char* text) {
    sections.set(key, described(std::move(value), text));
  };
  set("layers", steps, "steps in order; each reads the one before it unless `inputs` names others");
  set("blocks", std::move(blocks), "new layer types; every use makes new weights");
  set("shared", fragment::types({"object"}), "layers or chains with one set of weights, which every use shares");
  set("outputs", names(), "steps whose outputs are the model's; default: the last");
  set("freeze", fragment::any_of({names(), object(std::move(up_to), false)}),
      "patterns of layers whose weights stay as they are, or {up_to: name}");
  set("weights", fragment::any_of({weights_schema().json_schema(), fragment::types({"string", "null"})}),
      "file with the initial weights of a new training");
  SchemaTree source = SchemaTree::map();
  source.set("file", described(text(), "path of the file, relative to the config's folder"));
  source.set("input_shape", described(fragment::list(fragment::number("integer")),
                                      "[height, width, channels], where the file leaves the shape open"));
  set("from_keras", fragment::any_of({text(), object(std::move(source), false)}),
      "a Keras .h5 or .keras file in place of `layers`");
  SchemaTree schema = object(std::move(sections), false);
  const auto needs = [](const char* key) {
    SchemaTree one = SchemaTree::map();
    one.set("required", SchemaTree::sequence({SchemaTree::text(key)}));
    return one;
  };
  schema.set("oneOf", SchemaTree::sequence({needs("layers"), needs("from_keras")}));
  return schema;
}

}  // namespace dptrain::graph
