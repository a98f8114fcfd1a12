#pragma once

// A family is a set of types, such as layers or optimizers; a value, Typed, is written `Type: {keras arguments}`.
// Families are filled before main or at first use and are read-only afterwards.

#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "config/schema.h"

namespace dptrain::config {

struct TypeDef {
  std::string name;                  ///< Keras class name: "SGD"
  std::vector<std::string> aliases;  ///< Keras string aliases: "sgd", "he_normal"
  Schema schema;
  std::type_index type = typeid(void);
  /// Called on a default spec with the alias that the config uses, before arguments are read; may be empty.
  std::function<void(void* spec, const std::string& alias)> given_as;

  virtual ~TypeDef() = default;
};

template <class Spec>
TypeDef type_def(Schema schema, std::vector<std::string> aliases = {}) {
  TypeDef def;
  def.name = schema.name();
  def.aliases = std::move(aliases);
  def.schema = std::move(schema);
  def.type = typeid(Spec);
  return def;
}

class Family {
 public:
  /// `what` is the word in messages: "optimizer" gives "unknown optimizer 'Adm'; did you mean 'Adam'?". Messages show
  /// `example`, or the first member that has keys.
  explicit Family(std::string what, std::string example = "") : what_(std::move(what)), example_(std::move(example)) {}

  Family& add(TypeDef def);
  Family& add(std::unique_ptr<TypeDef> def);
  /// Inserts in the order of names: members register themselves before main in an unspecified order.
  Family& add_by_name(std::unique_ptr<TypeDef> def);
  const std::string& what() const noexcept { return what_; }
  const TypeDef* find(std::string_view name) const noexcept;
  const TypeDef* find(std::type_index type) const noexcept;
  std::vector<std::string> names() const;
  std::vector<const TypeDef*> types() const;

  /// Reads `Name`, `Name: value` or `Name: {...}`. Reports errors and then returns an empty value.
  Typed read(const Node& node, Reader& reader) const;
  template <class Spec>
  Typed make(Spec spec) const {
    return Typed(*find(typeid(Spec)), std::make_shared<const Spec>(std::move(spec)));
  }
  /// JSON Schema: a reference to the entry that define() adds to the "$defs" of the whole schema.
  Node json_schema() const;
  /// Adds "<what>" (a name or a map), "<what>.<Type>" (its text and arguments) and "<what>.arguments" (shared ones).
  void define(Node& definitions) const;

 private:
  std::string what_, example_;
  std::vector<std::unique_ptr<TypeDef>> types_;
};

/// The entry of a type in "$defs": `arguments`, none, or the value of the positional key; with the text of the type.
Node type_definition(const Schema& type, Node arguments);
/// Replaces arguments that several types have in common by references to `place`, which it adds to `definitions`.
/// `types`: the schemas of their arguments.
void share_arguments(std::vector<Node>& types, const std::string& place, Node& definitions);

template <Family& (*family)()>
struct Value<Of<family>> {
  static bool read(const Node& node, Reader& reader, Of<family>& out) {
    const Node value = reader.substituted(node);
    if (value.is_null() && !out) return true;  // none, as by default
    out = family().read(value, reader);
    return static_cast<bool>(out);
  }
  static Node write(const Of<family>& value) { return value ? value.write() : Node(); }
  static Node schema() { return family().json_schema(); }
};

}  // namespace dptrain::config
