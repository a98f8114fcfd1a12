#include "config/reader.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "config/expression.h"
#include "config/synonyms.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// Above this, doubles skip integers.
constexpr double kLargestExactInteger = 9007199254740992.0;

bool has_variables(const Node& node) {
  if (node.is_scalar()) return !node.literal() && node.str().find('$') != std::string::npos;
  for (const Node& item : node.items())
    if (has_variables(item)) return true;
  for (const Node::Entry& entry : node.entries())
    if (has_variables(entry.value)) return true;
  return false;
}

/// Length of the identifier that `text` has at `at`; 0 when there is none.
std::size_t name_length(const std::string& text, std::size_t at) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  std::size_t end = at;
  while (end < text.size() && (letter(text[end]) || (end > at && text[end] >= '0' && text[end] <= '9'))) ++end;
  return end - at;
}

/// The variable after a dollar: `NAME` or `{NAME}`.
struct Variable {
  std::string name;
  std::size_t length = 0;  ///< length of its text; 0: no variable
};

Variable variable_at(const std::string& text, std::size_t at) {
  const std::size_t brace = at < text.size() && text[at] == '{' ? 1 : 0;
  const std::size_t length = name_length(text, at + brace);
  if (length == 0 || (brace == 1 && text.substr(at + 1 + length, 1) != "}")) return {};
  return {text.substr(at + brace, length), length + 2 * brace};
}

/// Replaces each variable by `value(name)` and `$$` by a dollar.
template <class Value>
std::string with_variables(const std::string& text, Value value) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '$') {
      out += text[++i];
    } else if (const Variable variable = variable_at(text, i + 1); variable.length > 0) {
      out += value(variable.name);
      i += variable.length;
    } else {
      out += '$';
    }
  }
  return out;
}

std::size_t bytes_of(const Node& node) {
  std::size_t bytes = 64;
  if (node.is_scalar()) bytes += node.str().size();
  for (const Node& item : node.items()) bytes += bytes_of(item);
  for (const Node::Entry& entry : node.entries()) bytes += entry.key.size() + bytes_of(entry.value);
  return bytes;
}

}  // namespace

Reader::Scope::Scope(Reader& reader, std::map<std::string, Node> parameters)
    : reader_(reader), outer_inside_(reader.inside_block_) {
  for (auto& [name, node] : parameters) node = reader.substituted(node);
  outer_ = std::exchange(reader.parameters_, std::move(parameters));
  reader.inside_block_ = true;
}

Reader::Scope::~Scope() {
  reader_.parameters_ = std::move(outer_);
  reader_.inside_block_ = outer_inside_;
}

Reader::Subject::Subject(Reader& reader, std::string subject)
    : reader_(reader),
      outer_(std::exchange(reader.subject_, std::move(subject))),
      outer_key_(std::exchange(reader.key_, std::string())) {}

Reader::Subject::~Subject() {
  reader_.subject_ = std::move(outer_);
  reader_.key_ = std::move(outer_key_);
}

Reader::Key::Key(Reader& reader, std::string key)
    : reader_(reader), outer_(std::exchange(reader.key_, std::move(key))) {}
Reader::Key::~Key() { reader_.key_ = std::move(outer_); }

Node Reader::substituted(const Node& node) {
  if (!has_variables(node)) return node;
  if (node.is_scalar()) return counted(replaced(node));
  Node out = node;
  for (Node& item : out.items()) item = substituted(item);
  for (Node::Entry& entry : out.entries()) entry.value = substituted(entry.value);
  return out;
}

Node Reader::counted(Node node) {
  substituted_bytes_ += bytes_of(node);
  if (substituted_bytes_ > kMaxSubstituted) {
    error(node,
          fmt::format("variables and parameters expand to more than {} in all; does one contain another several times?",
                      human_bytes(kMaxSubstituted)));
    diagnostics_.throw_if_errors();
  }
  return node;
}

Node Reader::replaced(const Node& node) {
  const std::string& text = node.str();
  const Variable variable = variable_at(text, 1);
  if (text[0] == '$' && variable.length > 0 && variable.length + 1 == text.size()) {
    const std::string& name = variable.name;
    Node taken = Node::scalar(text);
    if (const auto parameter = parameters_.find(name); parameter != parameters_.end())
      taken = parameter->second;
    else if (const auto value = lookup(name, node.mark()))
      taken = is_null_word(*value) ? Node() : Node::scalar(*value);
    taken.set_mark(node.mark());
    taken.set_from_outside(taken.from_outside() || begins_outside(node));
    return taken;
  }
  // In arithmetic a variable is one operand: `$convs*2` with convs = 1+1 is 4. Other text is copied.
  const bool arithmetic = !node.quoted() && evaluate(with_variables(text, [](const std::string&) { return "1"; }));
  std::string result = with_variables(text, [&](const std::string& name) {
    const std::string value = lookup(name, node.mark()).value_or("$" + name);
    return arithmetic && !is_number_literal(value) && evaluate(value) ? "(" + value + ")" : value;
  });
  Node out = node.quoted() ? Node::text(std::move(result), node.mark()) : Node::scalar(std::move(result), node.mark());
  out.set_from_outside(begins_outside(node));
  return out;
}

std::optional<std::string> Reader::lookup(const std::string& name, const Mark& mark) {
  if (const auto parameter = parameters_.find(name); parameter != parameters_.end()) {
    const Node& node = parameter->second;
    if (node.is_scalar()) return node.str();
    error(mark, fmt::format("'${}' is {} and cannot be used inside text", name, node.describe()));
    unknown_.emplace(mark.source.get(), mark.line, mark.column);
    return std::nullopt;
  }
  if (auto value = from_outside(name)) return value;
  if (const auto fallback = defaults_.find(name); fallback != defaults_.end()) return fallback->second;
  unknown_variable(name, mark);
  return std::nullopt;
}

std::optional<std::string> Reader::from_outside(const std::string& name) const {
  if (const auto variable = variables_.find(name); variable != variables_.end()) return variable->second;
  if (const char* value = std::getenv(name.c_str())) return value;
  return std::nullopt;
}

bool Reader::begins_outside(const Node& node) const {
  if (!node.is_scalar() || node.literal() || !node.str().starts_with('$')) return false;
  const std::string name = variable_at(node.str(), 1).name;
  return !name.empty() && !parameters_.contains(name) && from_outside(name);
}

void Reader::read_defaults(const Node& vars) {
  if (vars.is_null()) return;
  if (!vars.is_map()) {
    error(vars, fmt::format("vars must be a map {{NAME: value}}, found {}", vars.describe()));
    return;
  }
  for (const Node::Entry& entry : vars.entries()) {
    if (name_length(entry.key, 0) != entry.key.size()) {
      error(entry.mark,
            fmt::format("vars: '{}' is not a valid variable name; expected letters, digits and _", entry.key));
    } else if (!entry.value.is_scalar()) {
      error(entry.value,
            fmt::format("vars: {} must be a text or a number, found {}", entry.key, entry.value.describe()));
    } else {
      defaults_[entry.key] = substituted(entry.value).str();
    }
  }
}

void Reader::unknown_variable(const std::string& name, const Mark& mark) {
  std::vector<std::string> known;
  if (inside_block_)
    for (const auto& [parameter, node] : parameters_) known.push_back(parameter);
  for (const auto* given : {&variables_, &defaults_})
    for (const auto& [variable, value] : *given) known.push_back(variable);
  const std::string near = nearest(name, known);
  error(mark, near.empty()
                  ? fmt::format("unknown variable '${0}'; give it with --var {0}=... or in the environment", name)
                  : fmt::format("unknown variable '${}'; did you mean '${}'?", name, near));
  unknown_.emplace(mark.source.get(), mark.line, mark.column);
}

std::optional<double> Reader::number(const Node& node) {
  const Node value = substituted(node);
  if (value.is_scalar() && !value.quoted())
    if (const auto number = evaluate(value.str())) return number;
  expected(value, "a number");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::integer(const Node& node) {
  const Node value = substituted(node);
  if (value.is_scalar() && !value.quoted()) {
    std::int64_t whole = 0;  // a plain integer is exact beyond 2^53
    const char* end = value.str().data() + value.str().size();
    const auto [rest, fault] = std::from_chars(value.str().data(), end, whole);
    if (fault == std::errc() && rest == end) return whole;
    const auto number = evaluate(value.str());
    if (number && std::abs(*number) <= kLargestExactInteger && *number == std::floor(*number))
      return static_cast<std::int64_t>(*number);
    if (number && std::abs(*number) > kLargestExactInteger) {
      expected(value, "an integer of at most 64 bits");
      return std::nullopt;
    }
  }
  expected(value, "an integer");
  return std::nullopt;
}

std::optional<bool> Reader::boolean(const Node& node) {
  const Node value = substituted(node);
  if (value.is_scalar() && !value.quoted())
    if (const auto truth = as_boolean(value.str())) return truth;
  expected(value, "true or false");
  return std::nullopt;
}

std::optional<std::string> Reader::text(const Node& node) {
  const Node value = substituted(node);
  if (value.is_scalar()) return value.str();
  expected(value, "text");
  return std::nullopt;
}

std::optional<std::string> Reader::path(const Node& node) {
  const Node value = substituted(node);
  if (!value.is_scalar() || value.str().empty()) {
    expected(value, "a path");
    return std::nullopt;
  }
  const bool in_file = node.mark().source != nullptr && !value.from_outside();
  const std::filesystem::path directory = in_file ? node.mark().source->directory : "";
  return std::filesystem::absolute(directory / value.str()).lexically_normal().string();
}

Diagnostic& Reader::error(const Mark& mark, const std::string& message) {
  if (unknown_.contains({mark.source.get(), mark.line, mark.column})) return unheard_ = {};
  return diagnostics_.error(mark, subject_.empty() ? message : subject_ + ": " + message);
}

Diagnostic& Reader::expected(const Node& node, const std::string& what) {
  const std::string list = node.is_scalar() ? tuple_as_list(node.str()) : "";
  return error(node, fmt::format("{}{}, found {}{}", must(), what, node.describe(),
                                 list.empty() ? "" : fmt::format("; if it is a list, write {}", list)));
}

}  // namespace dptrain::config
