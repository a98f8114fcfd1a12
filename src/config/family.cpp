#include "config/family.h"

#include <algorithm>
#include <map>

#include "config/json_fragment.h"
#include "config/synonyms.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

std::string with_article(const std::string& word) {
  const bool vowel = !word.empty() && std::string_view("aeiouAEIOU").find(word[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + word;
}

/// "SGD or SGD: {learning_rate: 0.01}": both notations of a member of the family, of `wanted` unless that is empty.
std::string example(const std::vector<std::unique_ptr<TypeDef>>& types, const std::string& wanted) {
  for (const auto& def : types) {
    if (def->schema.fields().empty() || (!wanted.empty() && def->name != wanted)) continue;
    const Field& field = def->schema.fields().front();
    Node arguments = Node::map();
    arguments.set(field.name, field.write(def->schema.make().get()));
    std::string text = to_yaml(Node::sequence({arguments}));  // "- key: value\n"
    text = text.substr(2, text.find('\n') - 2);
    return fmt::format(", such as {0} or {0}: {{{1}}}", def->name, text);
  }
  return types.empty() ? "" : ", such as " + types.front()->name;
}

/// "train.optimizer" for the entry SGD that `--set train.optimizer.SGD.momentum=0.9` has added; else "".
std::string set_path(const Node::Entry& entry) {
  const Mark& mark = entry.mark;
  if (!mark.known() || mark.source->name != "--set" || mark.column < 3) return "";
  return mark.source->lines.front().substr(0, static_cast<std::size_t>(mark.column) - 2);
}

/// The prefix of nested messages: "Conv2D 'conv1': TruncatedNormal", but "Adam" inside a section.
std::string subject_for(const Reader& reader, const std::string& type) {
  const std::string& outer = reader.subject();
  if (outer.empty() || outer[0] < 'A' || outer[0] > 'Z') return type;
  return outer == type || outer.starts_with(type + " '") ? outer : outer + ": " + type;
}

/// The members as users write them; losses and metrics by the short name of Keras.
std::vector<std::string> written_names(const std::string& what, const std::vector<std::unique_ptr<TypeDef>>& types) {
  const bool short_names = what == "loss" || what == "metric";
  std::vector<std::string> names;
  for (const auto& type : types)
    names.push_back(short_names && !type->aliases.empty() ? type->aliases.front() : type->name);
  return names;
}

/// Name in "$defs": "optimizer", or "data_set" for "data set".
std::string definition_name(std::string what) {
  std::replace(what.begin(), what.end(), ' ', '_');
  return what;
}

/// Number of types that must share a key's schema before it is defined once: editors load the whole schema.
constexpr int kSharedBy = 4;

/// {key: schema} of the keys that many types share.
Node shared_arguments(const std::vector<Node>& types) {
  std::map<std::pair<std::string, std::string>, int> counts;
  Node shared = Node::map();
  for (const Node& type : types)
    for (const Node::Entry& entry : type.find("properties")->entries())
      if (++counts[{entry.key, to_json(entry.value)}] == kSharedBy && shared.find(entry.key) == nullptr)
        shared.set(entry.key, entry.value);
  return shared;
}

/// Replaces a type's shared arguments by references to `place`.
void replace_by_reference(Node& type, const Node& shared, const std::string& place) {
  for (Node::Entry& entry : type.find("properties")->entries()) {
    const Node* const common = shared.find(entry.key);
    if (common != nullptr && to_json(*common) == to_json(entry.value))
      entry.value = fragment::reference(place + "/properties/" + entry.key);
  }
}

}  // namespace

Node type_definition(const Schema& type, Node arguments) {
  std::vector<Node> choices{std::move(arguments), fragment::types({"null"})};
  for (const Field& field : type.fields())
    if (field.positional) choices.push_back(field.schema());
  Node definition = fragment::any_of(std::move(choices));
  if (!type.doc().empty()) definition.set("description", Node::text(type.doc()));
  return definition;
}

void share_arguments(std::vector<Node>& types, const std::string& place, Node& definitions) {
  Node shared = shared_arguments(types);
  if (shared.entries().empty()) return;
  for (Node& type : types) replace_by_reference(type, shared, place);
  Node together = fragment::types({"object"});
  together.set("properties", std::move(shared));
  definitions.set(place, std::move(together));
}

const std::string& Typed::name() const { return def_->name; }

std::type_index Typed::type() const { return def_->type; }

Typed make_typed(const Family& family, std::type_index spec, std::shared_ptr<const void> value) {
  return Typed(*family.find(spec), std::move(value));
}

Node Typed::write(bool minimal) const {
  if (def_ == nullptr) return {};
  Node arguments = def_->schema.write(spec_.get(), minimal);
  if (arguments.entries().empty()) return Node::scalar(name());
  Node node = Node::map();
  node.set(name(), std::move(arguments));
  return node;
}

Family& Family::add(TypeDef def) { return add(std::make_unique<TypeDef>(std::move(def))); }

Family& Family::add(std::unique_ptr<TypeDef> def) {
  std::vector<std::string> names = def->aliases;
  names.push_back(def->name);
  for (const std::string& name : names)
    if (find(name) != nullptr) throw Error(ErrorKind::kInternal, fmt::format("{} '{}' is defined twice", what_, name));
  types_.push_back(std::move(def));
  return *this;
}

Family& Family::add_by_name(std::unique_ptr<TypeDef> def) {
  add(std::move(def));
  const auto place = std::upper_bound(types_.begin(), std::prev(types_.end()), types_.back(),
                                      [](const auto& a, const auto& b) { return a->name < b->name; });
  std::rotate(place, std::prev(types_.end()), types_.end());
  return *this;
}

const TypeDef* Family::find(std::string_view name) const noexcept {
  for (const auto& def : types_)
    if (def->name == name || std::find(def->aliases.begin(), def->aliases.end(), name) != def->aliases.end())
      return def.get();
  return nullptr;
}

const TypeDef* Family::find(std::type_index type) const noexcept {
  for (const auto& def : types_)
    if (def->type == type) return def.get();
  return nullptr;
}

std::vector<std::string> Family::names() const {
  std::vector<std::string> names;
  for (const auto& def : types_) names.push_back(def->name);
  return names;
}

std::vector<const TypeDef*> Family::types() const {
  std::vector<const TypeDef*> types;
  for (const auto& def : types_) types.push_back(def.get());
  return types;
}

Typed Family::read(const Node& node, Reader& reader) const {
  const Node found = reader.substituted(node);
  const bool bare = found.is_scalar();
  if (!bare && (!found.is_map() || found.entries().empty())) {
    reader.expected(found, with_article(what_) + example(types_, example_));
    return {};
  }
  const std::string& name = bare ? found.str() : found.entries().front().key;
  const Mark& mark = bare ? found.mark() : found.entries().front().mark;
  const TypeDef* def = find(name);
  if (!bare && found.entries().size() > 1) {
    const Node::Entry& second = found.entries()[1];
    if (def != nullptr && found.entries().front().value.is_null())
      reader.error(second.mark,
                   fmt::format("'{}' is at the same level as '{}'; indent the arguments below it", second.key, name));
    else if (const std::string path = set_path(second); !path.empty() && find(second.key) != nullptr)
      reader.error(second.mark, fmt::format("the {0} is {1}; replace it as a whole: --set '{2}={{{3}: {{...}}}}'",
                                            what_, name, path, second.key));
    else
      reader.error(second.mark, fmt::format("{}{}{}, found {} keys", reader.must(), with_article(what_),
                                            example(types_, example_), found.entries().size()));
    return {};
  }
  if (def == nullptr) {
    std::vector<std::string> known = names();
    for (const auto& type : types_) known.insert(known.end(), type->aliases.begin(), type->aliases.end());
    std::string hint = hint_for(name, what_, known);
    // `Adam(lr=0.1)`, or a loss read as a mapping by output: `loss: {CrossEntropyLoss: {weight: 2}}`.
    if (const TypeDef* called = name.ends_with(')') ? find(name.substr(0, name.find('('))) : nullptr) {
      const std::string mapping = call_as_mapping(name, called->name);
      hint = mapping.empty() ? fmt::format("; write '{}', with arguments as a mapping", called->name)
                             : fmt::format("; arguments are a mapping: {}", mapping);
    } else if (const std::size_t dot = reader.key().rfind('.'); dot != std::string::npos)
      if (const std::string meant = reader.key().substr(dot + 1); find_synonym(meant, what_) != nullptr)
        hint = fmt::format("; '{}' is read as the name of an output{}", meant, hint_for(meant, what_));
    if (hint.empty()) hint = "; expected one of " + join(written_names(what_, types_), ", ");
    reader.error(mark, fmt::format("unknown {} '{}'{}", what_, name, hint));
    return {};
  }
  const Reader::Subject subject(reader, subject_for(reader, def->name));
  std::shared_ptr<void> spec = def->schema.make();
  if (def->given_as && name != def->name) def->given_as(spec.get(), name);
  if (!def->schema.read(bare ? Node() : found.entries().front().value, mark, reader, spec.get())) return {};
  return {*def, std::move(spec), mark};
}

Node Family::json_schema() const { return fragment::reference(definition_name(what_)); }

void Family::define(Node& definitions) const {
  const std::string name = definition_name(what_);
  std::vector<std::string> words;
  Node properties = Node::map();
  std::vector<Node> arguments;
  for (const auto& def : types_) arguments.push_back(def->schema.json_schema());
  share_arguments(arguments, name + ".arguments", definitions);
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const auto& def = types_[i];
    const std::string type = name + "." + def->name;
    definitions.set(type, type_definition(def->schema, std::move(arguments[i])));
    words.push_back(def->name);
    words.insert(words.end(), def->aliases.begin(), def->aliases.end());
    properties.set(def->name, fragment::reference(type));
    for (const std::string& alias : def->aliases) properties.set(alias, fragment::reference(type));
  }
  Node one = fragment::object(std::move(properties));
  one.set("minProperties", Node::integer(1));
  one.set("maxProperties", Node::integer(1));
  definitions.set(name, fragment::any_of({fragment::one_of_words(words), std::move(one), fragment::variable()}));
}

}  // namespace dptrain::config
