#pragma once

// Reads, writes (for `config --resolved`) and describes (for the JSON Schema) each C++ type that a key can have.
// Specialize Value for a new type (DPTRAIN_CONFIG_VALUE declares it), or EnumNames for an enum.
//
//   static bool read(const Node&, Reader&, T& out);   false after reporting
//   static Node write(const T&);
//   static Node schema();                              a JSON Schema fragment

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "core/shape.h"

namespace dptrain::config {

DPTRAIN_CONFIG_VALUE(bool);
DPTRAIN_CONFIG_VALUE(int);
DPTRAIN_CONFIG_VALUE(std::int64_t);
DPTRAIN_CONFIG_VALUE(std::uint64_t);
DPTRAIN_CONFIG_VALUE(float);
DPTRAIN_CONFIG_VALUE(double);
DPTRAIN_CONFIG_VALUE(std::string);
DPTRAIN_CONFIG_VALUE(Path);
DPTRAIN_CONFIG_VALUE(Duration);
DPTRAIN_CONFIG_VALUE(ByteSize);
DPTRAIN_CONFIG_VALUE(Size2);  // one number for both, or [height, width]
DPTRAIN_CONFIG_VALUE(Shape);  // a list of integers
DPTRAIN_CONFIG_VALUE(Node);   // any value, with variables substituted

namespace detail {
std::string element_name(const std::string& key, std::size_t index);  ///< "strides[1]"
bool report_empty(const Node& item, Reader&);                         ///< reports an item that is null; returns false
bool read_map(const Node&, Reader&, Node& out);  ///< reports anything but a mapping; null is an empty one
bool read_enum(const Node&, Reader&, const std::vector<std::string>& names, std::size_t& out);
Node enum_schema(const std::vector<std::string>& names);
Node optional_schema(Node inner);
Node list_schema(Node inner);
Node map_schema(Node inner);
}  // namespace detail

template <class T>
struct Value<std::optional<T>> {  // null means absent
  static bool read(const Node& node, Reader& reader, std::optional<T>& out) {
    const Node found = reader.substituted(node);
    if (found.is_null()) return out.reset(), true;
    T value{};
    if (!Value<T>::read(found, reader, value)) return false;
    out = std::move(value);
    return true;
  }
  static Node write(const std::optional<T>& value) { return value ? Value<T>::write(*value) : Node(); }
  static Node schema();
};

template <class T>
struct Value<std::vector<T>> {  // a single value is a list of one, null is an empty list
  static bool read(const Node& node, Reader& reader, std::vector<T>& out) {
    out.clear();
    bool good = true;
    const auto one = [&](const Node& item) {
      T value{};
      good = Value<T>::read(item, reader, value) && good;
      out.push_back(std::move(value));
    };
    const Node list = reader.substituted(node);
    if (list.is_scalar() || list.is_map()) one(list);
    for (std::size_t i = 0; i < list.items().size(); ++i) {
      const Node item = reader.substituted(list.items()[i]);
      const Reader::Key element(reader, detail::element_name(reader.key(), i));
      if (item.is_null())
        good = detail::report_empty(item, reader);
      else
        one(item);
    }
    return good;
  }
  static Node write(const std::vector<T>& values) {
    Node list = Node::sequence();
    for (const T& value : values) list.items().push_back(Value<T>::write(value));
    return list;
  }
  static Node schema();
};

template <class T>
struct Value<std::map<std::string, T>> {  // any keys, values of one type
  static bool read(const Node& node, Reader& reader, std::map<std::string, T>& out) {
    out.clear();
    Node found;
    bool good = detail::read_map(node, reader, found);
    for (const Node::Entry& entry : found.entries()) {
      const Reader::Key element(reader, reader.key().empty() ? entry.key : reader.key() + "." + entry.key);
      good = Value<T>::read(entry.value, reader, out[entry.key]) && good;
    }
    return good;
  }
  static Node write(const std::map<std::string, T>& values) {
    Node map = Node::map();
    for (const auto& [name, value] : values) map.set(name, Value<T>::write(value));
    return map;
  }
  static Node schema() { return detail::map_schema(Value<T>::schema()); }
};

template <class E>
struct Value<E, std::enable_if_t<std::is_enum_v<E>>> {
  static bool read(const Node& node, Reader& reader, E& out) {
    std::size_t index = 0;
    if (!detail::read_enum(node, reader, names(), index)) return false;
    out = EnumNames<E>::names[index].first;
    return true;
  }
  static Node write(const E& value) {
    for (const auto& [candidate, name] : EnumNames<E>::names)
      if (candidate == value) return Node::scalar(name);
    return {};
  }
  static Node schema() { return detail::enum_schema(names()); }

 private:
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [value, name] : EnumNames<E>::names) all.emplace_back(name);
    return all;
  }
};

template <class T>
Node Value<std::optional<T>>::schema() {
  return detail::optional_schema(Value<T>::schema());
}
template <class T>
Node Value<std::vector<T>>::schema() {
  return detail::list_schema(Value<T>::schema());
}

}  // namespace dptrain::config
