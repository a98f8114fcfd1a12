// The JSON Schema of the `model:` section.

#include "config/json_fragment.h"
#include "graph/build.h"
#include "graph/network.h"
#include "graph/weights_spec.h"
#include "layers/layer.h"

namespace dptrain::graph {
namespace {

using Tree = config::Node;
namespace fragment = config::fragment;

Tree object(Tree properties, bool open) {
  Tree schema = fragment::types({"object"});
  schema.set("properties", std::move(properties));
  schema.set("additionalProperties", Tree::boolean(open));
  return schema;
}

Tree text() { return fragment::types({"string"}); }
Tree names() { return fragment::any_of({text(), fragment::list(text())}); }

/// The arguments of one layer type or network: its own and those of every step.
Tree arguments(const config::Schema& type) {
  Tree schema = type.json_schema();
  Tree& own = *schema.find("properties");
  own.set("name", text());
  own.set("inputs", names());
  own.set("device", text());
  own.set("repeat", fragment::number("integer"));
  own.set("trainable", fragment::boolean());
  own.set("if", fragment::boolean());
  std::vector<Tree> choices{std::move(schema), fragment::types({"null"})};
  for (const config::Field& field : type.fields())
    if (field.positional) choices.push_back(field.schema());
  return fragment::any_of(std::move(choices));
}

/// `Type` or `Type: arguments`; names that start lower-case are blocks and shared layers of the file itself.
Tree step() {
  Tree types = Tree::map();
  for (const config::TypeDef* type : layers::layer_family().types()) types.set(type->name, arguments(type->schema));
  std::vector<std::string> words = layers::layer_family().names();
  for (const auto& [name, network] : networks()) {
    types.set(name, arguments(network.schema));
    words.push_back(name);
  }
  Tree one = object(std::move(types), false);
  Tree own = Tree::map();
  own.set("^[a-z]", Tree::map());
  one.set("patternProperties", std::move(own));
  one.set("minProperties", Tree::integer(1));
  one.set("maxProperties", Tree::integer(1));
  Tree name = text();
  name.set("pattern", Tree::text("^[a-z]"));
  return fragment::any_of({fragment::one_of_words(words), std::move(name), std::move(one)});
}

}  // namespace

config::Node json_schema() {
  const Tree steps = fragment::list(step());
  Tree block = Tree::map();
  block.set("params", fragment::types({"object", "null"}));
  block.set("layers", steps);
  Tree blocks = fragment::types({"object"});
  blocks.set("additionalProperties", object(std::move(block), false));
  Tree up_to = Tree::map();
  up_to.set("up_to", text());

  Tree sections = Tree::map();
  sections.set("layers", steps);
  sections.set("blocks", std::move(blocks));
  sections.set("shared", fragment::types({"object"}));
  sections.set("outputs", names());
  sections.set("freeze", fragment::any_of({names(), object(std::move(up_to), false)}));
  sections.set("weights", fragment::any_of({weights_schema().json_schema(), fragment::types({"string", "null"})}));
  Tree source = Tree::map();
  source.set("file", text());
  source.set("input_shape", fragment::list(fragment::number("integer")));
  sections.set("from_keras", fragment::any_of({text(), object(std::move(source), false)}));
  Tree schema = object(std::move(sections), false);
  const auto needs = [](const char* key) {
    Tree one = Tree::map();
    one.set("required", Tree::sequence({Tree::text(key)}));
    return one;
  };
  schema.set("oneOf", Tree::sequence({needs("layers"), needs("from_keras")}));
  return schema;
}

}  // namespace dptrain::graph
