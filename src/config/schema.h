#pragma once

// Schema: the keys of one C++ struct. It parses them with positions, checks ranges, reports unknown keys with "did you
// mean", and writes the resolved config and the JSON Schema.
//
//   const Schema s = Schema::of<nn::ExponentialDecay>("ExponentialDecay")
//       .positional(key("initial_learning_rate", &nn::ExponentialDecay::initial_learning_rate).required().at_least(0))
//       .key(key("staircase", &nn::ExponentialDecay::staircase));
//
// Schemas are built before or at first use and are read-only afterwards: any thread may read with them.

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/value.h"

namespace dptrain::config {

/// The numbers that a key accepts; applies to each element of sizes and lists.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;

  bool limits() const noexcept { return !std::isinf(low) || !std::isinf(high); }
  bool holds(double x) const noexcept { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }
  std::string str() const;  ///< ">= 1", "> 0 and <= 1"
};

/// Value<T> with untyped pointers: one table for all keys of type T.
struct ValueOperations {
  bool (*read)(const Node&, Reader&, void* value);
  Node (*write)(const void* value);
  Node (*schema)();
};

template <class T>
inline constexpr ValueOperations kValueOperations{
    [](const Node& node, Reader& reader, void* value) { return Value<T>::read(node, reader, *static_cast<T*>(value)); },
    [](const void* value) { return Value<T>::write(*static_cast<const T*>(value)); },
    [] { return Value<T>::schema(); }};

/// One key with its type erased.
struct Field {
  std::string name;
  std::vector<std::string> aliases;  ///< other spellings, read but never written
  bool required = false;
  bool positional = false;  ///< also read as the bare value of the type: `Dropout: 0.5`
  std::string doc;
  Range range;
  std::function<void*(void* spec)> member;  ///< the value in the spec
  const ValueOperations* value = nullptr;
  std::function<std::string(const void* value)> check;  ///< may be empty

  bool read(const Node& node, Reader& reader, void* spec) const;
  Node write(const void* spec) const { return value->write(member(const_cast<void*>(spec))); }
  Node schema() const;
};

/// Builder of a Field. Ranges apply to numbers and to each element of sizes and lists.
template <class Spec, class T>
class Key {
 public:
  Key(std::string name, T Spec::*member) : member_(member) {
    field_.name = std::move(name);
    field_.value = &kValueOperations<T>;
  }

  const std::string& name() const noexcept { return field_.name; }
  Key& required() { return field_.required = true, *this; }
  Key& at_least(double low) { return field_.range.low = low, *this; }
  Key& above(double low) { return field_.range.low = low, field_.range.low_open = true, *this; }
  Key& at_most(double high) { return field_.range.high = high, *this; }
  Key& between(double low, double high) { return at_least(low).at_most(high); }
  Key& below(double high) { return field_.range.high = high, field_.range.high_open = true, *this; }
  Key& alias(std::string name) { return field_.aliases.push_back(std::move(name)), *this; }
  Key& doc(std::string text) { return field_.doc = std::move(text), *this; }
  /// `find_error` returns "" if the value is valid, else the rest of "<key> ..." such as "must be even".
  template <class Check>
  Key& check(Check find_error) {
    field_.check = [find_error](const void* value) -> std::string { return find_error(*static_cast<const T*>(value)); };
    return *this;
  }

  /// The key as one of `Owner`, which is Spec or derives from it.
  template <class Owner>
  Field field() const {
    Field field = field_;
    field.member = [member = member_](void* spec) -> void* { return &(static_cast<Owner*>(spec)->*member); };
    return field;
  }

 private:
  T Spec::*member_;
  Field field_;
};

template <class Spec, class T>
Key<Spec, T> key(std::string name, T Spec::*member) {
  return {std::move(name), member};
}

class Schema {
 public:
  template <class Spec>
  static Schema of(std::string name) {
    Schema schema;
    schema.name_ = std::move(name);
    schema.make_ = [] { return std::shared_ptr<void>(std::make_shared<Spec>()); };
    return schema;
  }

  Schema& add(Field field) { return fields_.push_back(std::move(field)), *this; }
  template <class Spec, class T>
  Schema& key(const Key<Spec, T>& k) {
    return add(k.template field<Spec>());
  }
  template <class Spec, class T>
  Schema& positional(const Key<Spec, T>& k) {
    key(k);
    fields_.back().positional = true;
    return *this;
  }
  /// Description of the type for `config --reference`: Markdown without a final period.
  Schema& doc(std::string text) { return doc_ = std::move(text), *this; }
  /// Uses `values` instead of Spec() as defaults.
  template <class Spec>
  Schema& defaults(const Spec& values) {
    make_ = [values] { return std::shared_ptr<void>(std::make_shared<Spec>(values)); };
    return *this;
  }
  /// A key that is rejected; `advice` describes what to write instead.
  Schema& rejected_key(std::string key, std::string advice) {
    rejected_keys_.emplace_back(std::move(key), std::move(advice));
    return *this;
  }
  /// A rule over several keys: returns "" or the message.
  template <class Spec>
  Schema& rule(std::function<std::string(const Spec&)> check) {
    rules_.push_back([check](const void* spec) { return check(*static_cast<const Spec*>(spec)); });
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& doc() const noexcept { return doc_; }
  const std::vector<Field>& fields() const noexcept { return fields_; }
  std::shared_ptr<void> make() const { return make_(); }

  /// Reads the arguments of `name: arguments` into *spec, which holds the defaults; false after reporting. `arguments`
  /// is a map of keys, null for all defaults, or the value of the positional key. `where` is the mark of the type's
  /// name, for "missing argument". The caller handles the `ignored` keys (name, inputs, ...).
  bool read(const Node& arguments, const Mark& where, Reader& reader, void* spec,
            const std::vector<std::string>& ignored = {}) const;
  /// Reads a section: a mapping, or null for all defaults. Messages begin with its name.
  bool read_section(const Node& node, Reader& reader, void* spec) const;
  /// A map with each key; `minimal` omits those that equal the default.
  Node write(const void* spec, bool minimal = false) const;
  /// JSON Schema of the map. Two annotations are of dptrain: "x-positional" marks the key that a value without a key
  /// sets, "x-alias-of" another spelling of a key.
  Node json_schema() const;

 private:
  std::string name_;
  std::string doc_;
  std::vector<Field> fields_;
  std::vector<std::pair<std::string, std::string>> rejected_keys_;
  std::vector<std::function<std::string(const void*)>> rules_;
  std::function<std::shared_ptr<void>()> make_;
};

}  // namespace dptrain::config
