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

/// What every step may have beside the arguments of its type.
SchemaTree common_arguments() {
  SchemaTree common = SchemaTree::map();
  SchemaTree name = text();
  name.set("description",
           SchemaTree::text("Of the layer, for `inputs`, messages and checkpoints; default: from its type."));
  common.set("name", std::move(name));
  common.set("inputs", names());
  common.set("mask", text());
  common.set("device", text());
  SchemaTree times = fragment::number("integer");
  times.set("minimum", SchemaTree::integer(1));
  common.set("repeat", std::move(times));
  common.set("trainable", fragment::boolean());
  common.set("if", fragment::boolean());
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
  SchemaTree inputs = names();
  inputs.set("description", SchemaTree::text("Names that the block's steps have for what it reads; default: input."));
  block.set("inputs", std::move(inputs));
  block.set("params", fragment::types({"object", "null"}));
  block.set("layers", steps);
  SchemaTree blocks = fragment::types({"object"});
  blocks.set("additionalProperties", object(std::move(block), false));
  SchemaTree up_to = SchemaTree::map();
  up_to.set("up_to", text());

  SchemaTree sections = SchemaTree::map();
  sections.set("layers", steps);
  sections.set("blocks", std::move(blocks));
  sections.set("shared", fragment::types({"object"}));
  sections.set("outputs", names());
  sections.set("freeze", fragment::any_of({names(), object(std::move(up_to), false)}));
  sections.set("weights", fragment::any_of({weights_schema().json_schema(), fragment::types({"string", "null"})}));
  SchemaTree source = SchemaTree::map();
  source.set("file", text());
  source.set("input_shape", fragment::list(fragment::number("integer")));
  sections.set("from_keras", fragment::any_of({text(), object(std::move(source), false)}));
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
