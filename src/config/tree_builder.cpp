#include "config/tree_builder.h"

#include <algorithm>
#include <utility>

#include "config/synonyms.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// No real key is longer. YAML itself stops looking for a ':' after 1024 characters.
constexpr std::size_t kMaxKeyLength = 200;

std::size_t count_nodes(const Node& node) {
  std::size_t n = 1;
  for (const Node& item : node.items()) n += count_nodes(item);
  for (const Node::Entry& entry : node.entries()) n += count_nodes(entry.value);
  return n;
}

/// Whether a plain value has a '(' that is not closed.
bool begins_call(const Node& node) {
  return node.is_scalar() && !node.quoted() &&
         std::ranges::count(node.str(), '(') > std::ranges::count(node.str(), ')');
}

std::string place(const Mark& mark) { return fmt::format("{}:{}", mark.line, mark.column); }

/// The error in a text key, or "".
std::string key_error(const std::string& key, bool quoted) {
  if (key.size() > kMaxKeyLength)
    return fmt::format("a key of {} characters; the maximum is {}", key.size(), kMaxKeyLength);
  const std::size_t bracket = key.find_first_of("{[");
  if (quoted || bracket == std::string::npos) return "";
  const std::string word = trim(key.substr(0, bracket));
  return fmt::format("'{}' is not a key; {}", key,
                     word.empty() ? "put it in quotes" : fmt::format("is a ':' missing after '{}'?", word));
}

}  // namespace

void TreeBuilder::scalar(std::string text, bool quoted, const Mark& mark, Anchor anchor) {
  Node node = quoted ? Node::text(std::move(text), mark) : Node::scalar(std::move(text), mark);
  node.set_literal(false);
  count(1, mark);
  add(std::move(node), anchor);
}

void TreeBuilder::null(bool written, const Mark& mark, Anchor anchor) {
  count(1, mark);
  Node node;
  node.set_mark(mark);
  if (!written && !stack_.empty()) {
    const Open& open = stack_.back();
    node.set_mark(open.key ? open.key->mark : open.node.mark());
    if (open.key && open.key->good && !open.key->quoted && open.key->text.find(':') != std::string::npos) {
      const auto [name, value] = std::pair(open.key->text.substr(0, open.key->text.find(':')),
                                           open.key->text.substr(open.key->text.find(':') + 1));
      diagnostics_.error(open.key->mark, fmt::format("a space is missing after ':'; write '{}: {}'", name, value));
      stack_.back().key->good = false;
    }
  }
  add(std::move(node), anchor);
}

void TreeBuilder::alias(Anchor anchor, const Mark& mark) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    diagnostics_.error(mark, "this alias is inside the node that it refers to");
    return add(Node(), 0);
  }
  const Anchored& anchored = found->second;
  count(anchored.nodes, mark);
  if (static_cast<int>(stack_.size()) + anchored.depth > kMaxDepth)
    stop(mark, fmt::format("more than {} levels of lists and mappings", kMaxDepth));
  add(anchored.node, 0);
}

void TreeBuilder::begin(Node node, Anchor anchor, bool flow) {
  count(1, node.mark());
  if (static_cast<int>(stack_.size()) >= kMaxDepth)
    stop(node.mark(), fmt::format("more than {} levels of lists and mappings", kMaxDepth));
  stack_.push_back({.node = std::move(node), .anchor = anchor, .flow = flow});
}

void TreeBuilder::end() {
  Open open = std::move(stack_.back());
  stack_.pop_back();
  for (const Node& merged : open.merged)  // explicit keys win over merged ones, earlier merged ones over later ones
    for (const Node::Entry& entry : merged.entries())
      if (open.seen.emplace(entry.key, entry.mark).second) open.node.entries().push_back(entry);
  if (open.flow) join_calls(open.node);
  add(std::move(open.node), open.anchor);
}

void TreeBuilder::add(Node node, Anchor anchor) {
  if (anchor != 0) {
    const std::size_t nodes = count_nodes(node);
    count(nodes, node.mark());  // counts the stored copy; nested anchors would otherwise make the size quadratic
    anchors_[anchor] = {node, nodes, depth(node)};
  }
  if (stack_.empty()) {
    root_ = std::move(node);
  } else if (Open& open = stack_.back(); open.node.is_sequence()) {
    open.node.items().push_back(std::move(node));
  } else if (!open.key) {
    add_key(open, node);
  } else {
    add_value(open, std::move(node));
  }
}

void TreeBuilder::add_key(Open& map, const Node& node) {
  Key key{node.str(), node.mark(), node.quoted(), false};
  if (!node.is_scalar()) {
    diagnostics_.error(key.mark, fmt::format("a key must be a name, found {}", node.describe()));
  } else if (const std::string wrong = key_error(key.text, key.quoted); !wrong.empty()) {
    diagnostics_.error(key.mark, wrong);
  } else {
    key.good = map.in_call || add_seen(map, key.text, key.mark);  // entries of `(3, 3, 3, 3)` are not keys
  }
  map.key = std::move(key);
}

bool TreeBuilder::add_seen(Open& map, const std::string& key, const Mark& mark) {
  const auto [first, added] = map.seen.emplace(key, mark);
  if (!added) diagnostics_.error(mark, fmt::format("duplicate key '{}' (first at {})", key, place(first->second)));
  return added;
}

void TreeBuilder::report_duplicates(const std::vector<Node::Entry>& entries, std::size_t begin) {
  for (std::size_t i = begin; i < entries.size() && entries[i].value.is_null(); ++i) {
    const auto first = std::ranges::find(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i),
                                         entries[i].key, &Node::Entry::key);
    if (first == entries.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    diagnostics_.error(entries[i].mark,
                       fmt::format("duplicate key '{}' (first at {})", entries[i].key, place(first->mark)));
  }
}

void TreeBuilder::join_calls(Node& map) {
  constexpr std::size_t kMaxParts = 32;  // bounds the work for hostile input
  std::vector<Node::Entry> entries = std::move(map.entries());
  map.entries().clear();
  for (std::size_t i = 0, end = 0; i < entries.size(); i = end) {
    end = i + 1;
    if (!begins_call(entries[i].value)) {
      map.entries().push_back(std::move(entries[i]));
      continue;
    }
    Node joined = entries[i].value;
    const std::size_t limit = std::min(entries.size(), i + kMaxParts);
    for (; end < limit && entries[end].value.is_null() && begins_call(joined); ++end) {
      Node longer = Node::scalar(joined.str() + ", " + entries[end].key, joined.mark());
      longer.set_literal(false);
      joined = std::move(longer);
    }
    if (begins_call(joined)) {  // never closed: the parts are keys
      end = i + 1;
      report_duplicates(entries, end);
    }
    if (end > i + 1) entries[i].value = as_list(std::move(joined), entries[end - 1].mark);
    map.entries().push_back(std::move(entries[i]));
  }
}

Node TreeBuilder::as_list(Node tuple, const Mark& last) {
  const std::string list = tuple_as_list(tuple.str());
  if (list.empty()) return tuple;
  Mark whole = tuple.mark();
  whole.length = last.line == whole.line ? last.column + last.length - whole.column : whole.length;
  diagnostics_.error(whole, fmt::format("'{}' is not a list in YAML; write {}", tuple.str(), list));
  Node items = Node::sequence({}, whole);
  for (const std::string& part : split(std::string_view(list).substr(1, list.size() - 2), ','))
    items.items().push_back(Node::scalar(trim(part), whole));
  return items;
}

void TreeBuilder::add_value(Open& map, Node node) {
  const Key key = std::exchange(map.key, std::nullopt).value();
  if (!key.good) return;
  if (map.in_call && !node.is_null()) {
    map.in_call = false;
    if (!add_seen(map, key.text, key.mark)) return;
  }
  if (map.in_call && std::ranges::count(key.text, ')') > std::ranges::count(key.text, '(')) map.in_call = false;
  map.in_call = map.in_call || (map.flow && begins_call(node));
  if (key.text == "<<" && !key.quoted) return add_merge(map, node, key.mark);
  map.node.entries().push_back({key.text, key.mark, std::move(node)});
}

void TreeBuilder::add_merge(Open& map, const Node& node, const Mark& at) {
  bool good = node.is_map() || node.is_sequence();
  for (const Node& item : node.items()) good = good && item.is_map();
  if (!good) {
    diagnostics_.error(at, fmt::format("'<<' must be a mapping or a list of mappings, found {}",
                                       node.is_sequence() ? "a list of other values" : node.describe()));
    return;
  }
  if (node.is_map())
    map.merged.push_back(node);
  else
    map.merged.insert(map.merged.end(), node.items().begin(), node.items().end());
}

void TreeBuilder::count(std::size_t nodes, const Mark& at) {
  nodes_ += nodes;
  if (nodes_ > kMaxNodes)
    stop(at, fmt::format("more than {} values once the aliases are expanded", with_commas(kMaxNodes)));
}

void TreeBuilder::stop(const Mark& at, const std::string& message) {
  diagnostics_.error(at, message);
  throw Stop{};
}

}  // namespace dptrain::config
