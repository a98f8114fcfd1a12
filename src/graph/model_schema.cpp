// The JSON Schema of the `model:` section.

#include "config/json_fragment.h"
#include "graph/build.h"
#include "graph/network.h"
#include "graph/weights_spec.h"
#include "layers/layer.h"

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

/// The arguments of one layer type or network: its own and those of every step.
SchemaTree arguments(const config::Schema& type) {
  SchemaTree schema = type.json_schema();
  SchemaTree& own = *schema.find("properties");
  own.set("name", text());
  own.set("inputs", names());
  own.set("device", text());
  own.set("repeat", fragment::number("integer"));
  own.set("trainable", fragment::boolean());
  own.set("if", fragment::boolean());
  std::vector<SchemaTree> choices{std::move(schema), fragment::types({"null"})};
  for (const config::Field& field : type.fields())
    if (field.positional) choices.push_back(field.schema());
  return fragment::any_of(std::move(choices));
}

/// `Type` or `Type: arguments`; names that start lower-case are blocks and shared layers of the file itself.
SchemaTree step() {
  SchemaTree types = SchemaTree::map();
  for (const config::TypeDef* type : layers::layer_family().types()) types.set(type->name, arguments(type->schema));
  std::vector<std::string> words = layers::layer_family().names();
  for (const auto& [name, network] : networks()) {
    types.set(name, arguments(network.schema));
    words.push_back(name);
  }
  SchemaTree one = object(std::move(types), false);
  SchemaTree own = SchemaTree::map();
  own.set("^[a-z]", SchemaTree::map());
  one.set("patternProperties", std::move(own));
  one.set("minProperties", SchemaTree::integer(1));
  one.set("maxProperties", SchemaTree::integer(1));
  SchemaTree name = text();
  name.set("pattern", SchemaTree::text("^[a-z]"));
  return fragment::any_of({fragment::one_of_words(words), std::move(name), std::move(one)});
}

}  // namespace

config::Node json_schema() {
  const SchemaTree steps = fragment::list(step());
  SchemaTree block = SchemaTree::map();
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
