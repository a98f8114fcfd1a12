#pragma once

// Schema: the keys of one C++ struct, said once. From it come parsing with positions, range checks, unknown-key errors with
// "did you mean", the resolved config and the JSON Schema.
//
//   const Schema s = Schema::of<ExponentialDecaySpec>("ExponentialDecay")
//       .positional(key("initial_learning_rate", &ExponentialDecaySpec::initial_learning_rate).required().at_least(0))
//       .key(key("staircase", &ExponentialDecaySpec::staircase));
//
// Schemas are built before or at the first use and are read-only afterwards: any thread may read with them.

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "config/value.h"

namespace dptrain::config {

/// One key, its type erased.
struct Field {
  std::string name;
  std::vector<std::string> aliases;  ///< other spellings that are read but never written
  bool required = false;
  bool positional = false;  ///< also readable as the bare value of the type: `Dropout: 0.5`
  std::string doc;
  std::function<bool(const Node&, Reader&, void* spec)> read;
  std::function<Node(const void* spec)> write;
  std::function<Node()> schema;
};

/// Builder of a Field. Ranges apply to numbers and to each part of sizes and lists.
template <class Spec, class T>
class Key {
 public:
  Key(std::string name, T Spec::*member) : name_(std::move(name)), member_(member) {}

  Key& required() { return required_ = true, *this; }
  Key& at_least(double low) { return low_ = low, *this; }
  Key& above(double low) { return low_ = low, low_open_ = true, *this; }
  Key& at_most(double high) { return high_ = high, *this; }
  Key& below(double high) { return high_ = high, high_open_ = true, *this; }
  Key& alias(std::string name) { return aliases_.push_back(std::move(name)), *this; }
  Key& doc(std::string text) { return doc_ = std::move(text), *this; }
  /// Returns "" when good, else the rest of "<key> ..." such as "must be even".
  Key& check(std::function<std::string(const T&)> check) { return check_ = std::move(check), *this; }

  template <class Owner>
  Field field() const;

 private:
  std::string name_;
  T Spec::*member_;
  bool required_ = false, low_open_ = false, high_open_ = false;
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
  std::vector<std::string> aliases_;
  std::string doc_;
  std::function<std::string(const T&)> check_;
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

  template <class Spec, class T>
  Schema& key(const Key<Spec, T>& k) & {
    fields_.push_back(k.template field<Spec>());
    return *this;
  }
  template <class Spec, class T>
  Schema&& key(const Key<Spec, T>& k) && {
    return std::move(key(k));
  }
  template <class Spec, class T>
  Schema& positional(const Key<Spec, T>& k) & {
    fields_.push_back(k.template field<Spec>());
    fields_.back().positional = true;
    return *this;
  }
  template <class Spec, class T>
  Schema&& positional(const Key<Spec, T>& k) && {
    return std::move(positional(k));
  }
  /// A rule over several keys: returns "" or the message.
  template <class Spec>
  Schema&& rule(std::function<std::string(const Spec&)> check) && {
    rules_.push_back([check](const void* spec) { return check(*static_cast<const Spec*>(spec)); });
    return std::move(*this);
  }

  const std::string& name() const noexcept { return name_; }
  const std::vector<Field>& fields() const noexcept { return fields_; }
  std::shared_ptr<void> make() const { return make_(); }

  /// Reads the arguments of `name: arguments` into *spec (already holding the defaults). `arguments` is a map of keys, null
  /// for all defaults, or anything else for the positional key. False after reporting. `where` is the mark of the type's
  /// name, for "missing argument". `ignored` are keys that the caller handles (name, inputs, ...). Messages name the reader's
  /// subject, with the key in whose value we stand ("data.loader"), or else the schema.
  bool read(const Node& arguments, const Mark& where, Reader& reader, void* spec,
            const std::vector<std::string>& ignored = {}) const;
  /// A map with every key; `minimal` leaves out those that equal the default.
  Node write(const void* spec, bool minimal = false) const;
  /// JSON Schema of the map.
  Node json_schema() const;

 private:
  std::string name_;
  std::vector<Field> fields_;
  std::vector<std::function<std::string(const void*)>> rules_;
  std::function<std::shared_ptr<void>()> make_;
};

namespace detail {
/// Range check over every number in a written value; reports "<key> must be >= 1, found 0". Returns false when out of range.
bool in_range(const Node& written, const std::string& key, double low, bool low_open, double high, bool high_open,
              const Node& at, Reader& reader);
Node ranged_schema(Node schema, double low, bool low_open, double high, bool high_open);
}  // namespace detail

template <class Spec, class T>
template <class Owner>
Field Key<Spec, T>::field() const {
  Field f;
  f.name = name_;
  f.aliases = aliases_;
  f.required = required_;
  f.doc = doc_;
  f.read = [k = *this](const Node& node, Reader& reader, void* spec) {
    const Reader::Key naming(reader, k.name_);
    T& value = static_cast<Owner*>(spec)->*(k.member_);
    if (!Value<T>::read(node, reader, value)) return false;
    if (!detail::in_range(Value<T>::write(value), k.name_, k.low_, k.low_open_, k.high_, k.high_open_, node, reader))
      return false;
    const std::string complaint = k.check_ ? k.check_(value) : "";
    if (!complaint.empty()) reader.error(node, k.name_ + " " + complaint);
    return complaint.empty();
  };
  f.write = [k = *this](const void* spec) { return Value<T>::write(static_cast<const Owner*>(spec)->*(k.member_)); };
  f.schema = [k = *this] {
    return detail::ranged_schema(Value<T>::schema(), k.low_, k.low_open_, k.high_, k.high_open_);
  };
  return f;
}

}  // namespace dptrain::config
