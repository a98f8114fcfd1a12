#include "config/node.h"

#include <algorithm>
#include <utility>

#include "config/expression.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {

std::string Mark::str() const { return known() ? fmt::format("{}:{}:{}", source->name, line, column) : "(default)"; }

Node::Node() noexcept = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

Node Node::scalar(std::string text, Mark mark) {
  Node node;
  node.kind_ = Kind::kScalar;
  node.text_ = std::move(text);
  node.mark_ = std::move(mark);
  return node;
}

Node Node::text(std::string text, Mark mark) {
  Node node = scalar(std::move(text), std::move(mark));
  node.quoted_ = true;
  return node;
}

Node Node::number(double value) { return scalar(shortest(value)); }
Node Node::integer(std::int64_t value) { return scalar(std::to_string(value)); }
Node Node::boolean(bool value) { return scalar(value ? "true" : "false"); }

Node Node::sequence(std::vector<Node> items, Mark mark) {
  Node node;
  node.kind_ = Kind::kSequence;
  node.items_ = std::move(items);
  node.mark_ = std::move(mark);
  return node;
}

Node Node::map(Mark mark) {
  Node node;
  node.kind_ = Kind::kMap;
  node.mark_ = std::move(mark);
  return node;
}

std::string Node::describe() const {
  switch (kind_) {
    case Kind::kNull: return "nothing";
    case Kind::kSequence: return items_.empty() ? "an empty list" : "a list";
    case Kind::kMap: return entries_.empty() ? "an empty mapping" : "a mapping";
    case Kind::kScalar: break;
  }
  constexpr std::size_t kLongest = 60;
  std::string shown = text_.substr(0, text_.find('\n'));
  if (shown.size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
    shown.resize(end);
  }
  if (shown.size() != text_.size()) shown += "...";
  const bool typed = needs_quotes_to_be_text(text_);
  if (quoted_ && typed) return fmt::format("the text '{}'", shown);
  return typed ? shown : fmt::format("'{}'", shown);
}

const Node* Node::find(std::string_view key) const noexcept {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  return entry == entries_.end() ? nullptr : &entry->value;
}

Node* Node::find(std::string_view key) noexcept { return const_cast<Node*>(std::as_const(*this).find(key)); }

Node& Node::set(std::string key, Node value) {
  kind_ = Kind::kMap;
  if (Node* present = find(key)) return *present = std::move(value);
  Mark mark = value.mark();
  entries_.push_back({std::move(key), std::move(mark), std::move(value)});
  return entries_.back().value;
}

void Node::erase(std::string_view key) {
  std::erase_if(entries_, [&](const Entry& e) { return e.key == key; });
}

bool same(const Node& a, const Node& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_scalar())
    return a.str() == b.str() && (a.quoted() == b.quoted() || !needs_quotes_to_be_text(a.str())) &&
           (a.literal() == b.literal() || a.str().find('$') == std::string::npos);
  return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same) &&
         std::equal(
             a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
             [](const Node::Entry& x, const Node::Entry& y) { return x.key == y.key && same(x.value, y.value); });
}

int depth(const Node& node) noexcept {
  int deepest = 0;
  for (const Node& item : node.items()) deepest = std::max(deepest, depth(item));
  for (const Node::Entry& entry : node.entries()) deepest = std::max(deepest, depth(entry.value));
  return node.is_sequence() || node.is_map() ? deepest + 1 : 0;
}

}  // namespace dptrain::config
