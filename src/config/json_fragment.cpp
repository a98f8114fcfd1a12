#include "config/json_fragment.h"

#include <utility>

namespace dptrain::config::fragment {
namespace {

Node words(const std::vector<std::string>& all) {
  Node list = Node::sequence();
  for (const std::string& word : all) list.items().push_back(Node::text(word));
  return list;
}

Node with_pattern(Node schema, const std::string& pattern) {
  schema.set("pattern", Node::text(pattern));
  return schema;
}

}  // namespace

Node types(const std::vector<std::string>& names) {
  Node schema = Node::map();
  schema.set("type", names.size() == 1 ? Node::text(names.front()) : words(names));
  return schema;
}

Node number(const std::string& type) { return with_pattern(types({type, "string"}), "[0-9$]"); }
Node boolean() { return with_pattern(types({"boolean", "string"}), "\\$"); }
Node variable() { return with_pattern(types({"string"}), "\\$"); }

Node one_of_words(const std::vector<std::string>& all) {
  Node schema = Node::map();
  schema.set("enum", words(all));
  return schema;
}

Node any_of(std::vector<Node> choices) {
  Node list = Node::sequence();
  const auto add = [&](const Node& choice) {
    for (const Node& present : list.items())
      if (same(present, choice)) return;
    list.items().push_back(choice);
  };
  for (Node& choice : choices) {
    const Node* inner = choice.entries().size() == 1 ? std::as_const(choice).find("anyOf") : nullptr;
    if (inner == nullptr)
      add(choice);
    else
      for (const Node& part : inner->items()) add(part);
  }
  Node schema = Node::map();
  schema.set("anyOf", std::move(list));
  return schema;
}

Node list(Node item) {
  Node schema = types({"array"});
  schema.set("items", std::move(item));
  return schema;
}

Node object(Node properties, bool open, const std::string& must_have) {
  Node schema = types({"object"});
  schema.set("properties", std::move(properties));
  if (!must_have.empty()) schema.set("required", words({must_have}));
  schema.set("additionalProperties", Node::boolean(open));
  return schema;
}

Node required(const std::string& key) {
  Node schema = Node::map();
  schema.set("required", words({key}));
  return schema;
}

Node reference(const std::string& name) {
  Node schema = Node::map();
  schema.set("$ref", Node::text("#/$defs/" + name));
  return schema;
}

Node described(Node node, const std::string& text) {
  node.set("description", Node::text(text));
  return node;
}

}  // namespace dptrain::config::fragment
