#include "config/value.h"

#include <charconv>
#include <limits>

#include "config/expression.h"
#include "config/json_fragment.h"
#include "config/synonyms.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::config {

bool Value<bool>::read(const Node& node, Reader& reader, bool& out) {
  const auto value = reader.boolean(node);
  if (value) out = *value;
  return value.has_value();
}
Node Value<bool>::write(const bool& value) { return Node::boolean(value); }
Node Value<bool>::schema() { return fragment::boolean(); }

bool Value<int>::read(const Node& node, Reader& reader, int& out) {
  using Limits = std::numeric_limits<int>;
  const auto value = reader.integer(node);
  if (!value) return false;
  if (*value < Limits::min() || *value > Limits::max()) {
    reader.expected(reader.substituted(node),
                    fmt::format("an integer between {} and {}", Limits::min(), Limits::max()));
    return false;
  }
  out = static_cast<int>(*value);
  return true;
}
Node Value<int>::write(const int& value) { return Node::integer(value); }
Node Value<int>::schema() { return fragment::number("integer"); }

bool Value<std::int64_t>::read(const Node& node, Reader& reader, std::int64_t& out) {
  const auto value = reader.integer(node);
  if (value) out = *value;
  return value.has_value();
}
Node Value<std::int64_t>::write(const std::int64_t& value) { return Node::integer(value); }
Node Value<std::int64_t>::schema() { return fragment::number("integer"); }

bool Value<std::uint64_t>::read(const Node& node, Reader& reader, std::uint64_t& out) {
  const Node found = reader.substituted(node);
  const std::string& text = found.str();
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), out);  // the upper half, too
  if (found.is_scalar() && !found.quoted() && fault == std::errc() && rest == text.data() + text.size()) return true;
  const auto value = reader.integer(found);
  if (!value) return false;
  if (*value < 0) {
    reader.expected(found, ">= 0");
    return false;
  }
  out = static_cast<std::uint64_t>(*value);
  return true;
}
Node Value<std::uint64_t>::write(const std::uint64_t& value) { return Node::scalar(std::to_string(value)); }
Node Value<std::uint64_t>::schema() {
  Node schema = fragment::number("integer");
  schema.set("minimum", Node::integer(0));
  return schema;
}

bool Value<double>::read(const Node& node, Reader& reader, double& out) {
  const auto value = reader.number(node);
  if (value) out = *value;
  return value.has_value();
}
Node Value<double>::write(const double& value) { return Node::number(value); }
Node Value<double>::schema() { return fragment::number("number"); }

bool Value<float>::read(const Node& node, Reader& reader, float& out) {
  const auto value = reader.number(node);
  if (!value) return false;
  if (*value > std::numeric_limits<float>::max() || *value < std::numeric_limits<float>::lowest()) {
    reader.expected(reader.substituted(node), "a number that fits in 32 bits");
    return false;
  }
  out = static_cast<float>(*value);
  return true;
}
Node Value<float>::write(const float& value) { return Node::scalar(shortest(value)); }  // 0.1, not 0.10000000149
Node Value<float>::schema() { return fragment::number("number"); }

bool Value<std::string>::read(const Node& node, Reader& reader, std::string& out) {
  auto value = reader.text(node);
  if (value) out = std::move(*value);
  return value.has_value();
}
Node Value<std::string>::write(const std::string& value) { return Node::text(value); }
Node Value<std::string>::schema() { return fragment::types({"string", "number", "boolean"}); }

bool Value<Path>::read(const Node& node, Reader& reader, Path& out) {
  auto value = reader.path(node);
  if (value) out = {std::move(*value), node.mark()};
  return value.has_value();
}
Node Value<Path>::write(const Path& value) { return value.value.empty() ? Node() : Node::text(value.value); }
Node Value<Path>::schema() { return fragment::types({"string"}); }

bool Value<Node>::read(const Node& node, Reader& reader, Node& out) {
  out = reader.substituted(node);
  return true;
}
Node Value<Node>::write(const Node& value) { return value; }
Node Value<Node>::schema() { return Node::map(); }

bool Value<Size2>::read(const Node& node, Reader& reader, Size2& out) {
  const Node found = reader.substituted(node);
  if (!found.is_sequence()) {
    if (!found.is_scalar()) return reader.expected(found, "an integer or [height, width]"), false;
    if (!Value<std::int64_t>::read(found, reader, out.h)) return false;
    out.w = out.h;
    return true;
  }
  if (found.items().size() != 2) {
    reader.error(found, fmt::format("{}[height, width], found {}", reader.must(),
                                    dptrain::counted(found.items().size(), "value")));
    return false;
  }
  Shape shape;
  if (!Value<Shape>::read(found, reader, shape)) return false;
  out = {shape[0], shape[1]};
  return true;
}
Node Value<Size2>::write(const Size2& value) {
  return Node::sequence({Node::integer(value.h), Node::integer(value.w)});
}
Node Value<Size2>::schema() {
  Node pair = fragment::list(fragment::number("integer"));
  pair.set("minItems", Node::integer(2));
  pair.set("maxItems", Node::integer(2));
  return fragment::any_of({fragment::number("integer"), pair});
}

bool Value<Shape>::read(const Node& node, Reader& reader, Shape& out) {
  const Node found = reader.substituted(node);
  if (!found.is_scalar() && !found.is_sequence()) return reader.expected(found, "a list of integers"), false;
  std::vector<std::int64_t> dims;
  if (!Value<std::vector<std::int64_t>>::read(found, reader, dims)) return false;
  out = Shape(std::move(dims));
  return true;
}
Node Value<Shape>::write(const Shape& value) { return Value<std::vector<std::int64_t>>::write(value.dims()); }
Node Value<Shape>::schema() { return Value<std::vector<std::int64_t>>::schema(); }

namespace detail {

std::string element_name(const std::string& key, std::size_t index) {
  return key.empty() ? "" : fmt::format("{}[{}]", key, index);
}

bool report_empty(const Node& item, Reader& reader) {
  reader.error(item, fmt::format("{} is empty", reader.key().empty() ? "an item of the list" : reader.key()));
  return false;
}

bool read_map(const Node& node, Reader& reader, Node& out) {
  out = reader.substituted(node);
  if (out.is_map() || out.is_null()) return true;
  reader.expected(out, "a mapping");
  return false;
}

bool read_enum(const Node& node, Reader& reader, const std::vector<std::string>& names, std::size_t& out) {
  const Node found = reader.substituted(node);
  for (std::size_t i = 0; found.is_scalar() && i < names.size(); ++i)
    if (names[i] == found.str()) return out = i, true;
  constexpr std::size_t kFew = 6;
  const std::string hint = found.is_scalar() ? hint_for(found.str(), "=" + reader.key(), names) : "";
  std::string choices;
  for (std::size_t i = 0; i < names.size(); ++i)
    choices += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  if (!hint.empty() && names.size() > kFew) choices = "a known name";
  reader.error(found, fmt::format("{}{}, found {}{}", reader.must(), choices, found.describe(), hint));
  return false;
}

Node enum_schema(const std::vector<std::string>& names) {
  return fragment::any_of({fragment::one_of_words(names), fragment::variable()});
}
Node optional_schema(Node inner) { return fragment::any_of({std::move(inner), fragment::types({"null"})}); }
Node list_schema(Node inner) {
  Node list = fragment::list(inner);
  return fragment::any_of({std::move(inner), std::move(list)});
}
Node map_schema(Node inner) {
  Node map = fragment::types({"object"});
  map.set("additionalProperties", std::move(inner));
  return map;
}

}  // namespace detail

}  // namespace dptrain::config
