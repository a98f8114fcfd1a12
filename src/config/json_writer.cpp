#include <nlohmann/json.hpp>

#include "config/expression.h"
#include "config/node.h"

namespace dptrain::config {
namespace {

using Json = nlohmann::ordered_json;

Json scalar(const Node& node) {
  const std::string& text = node.str();
  if (node.quoted()) return text;
  if (const auto truth = as_boolean(text)) return *truth;
  if (!is_number_literal(text)) return text;
  // Integers stay exact; other numbers become the shortest text that reads back as the same double.
  const Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(evaluate(text).value());
}

Json json(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull: return nullptr;
    case Node::Kind::kScalar: return scalar(node);
    case Node::Kind::kSequence: {
      Json list = Json::array();
      for (const Node& item : node.items()) list.push_back(json(item));
      return list;
    }
    case Node::Kind::kMap: break;
  }
  Json map = Json::object();
  for (const Node::Entry& entry : node.entries()) map[entry.key] = json(entry.value);
  return map;
}

std::string on_one_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// A value that fits into one line is not split: this halves the length of a schema.
constexpr std::size_t kLongestLine = 120;

void lay_out(const Json& value, std::size_t indent, std::string& out) {
  const std::string line = on_one_line(value);
  if (!value.is_structured() || indent + line.size() <= kLongestLine) {
    out += line;
    return;
  }
  out += value.is_object() ? '{' : '[';
  const char* separator = "";
  for (const auto& [name, part] : value.items()) {
    out += separator;
    out += '\n';
    out.append(indent + 1, ' ');
    if (value.is_object()) out += on_one_line(Json(name)) + ": ";
    lay_out(part, indent + 1, out);
    separator = ",";
  }
  out += '\n';
  out.append(indent, ' ');
  out += value.is_object() ? '}' : ']';
}

}  // namespace

std::string to_json(const Node& node) {
  std::string text;
  lay_out(json(node), 0, text);
  return text;
}

}  // namespace dptrain::config
