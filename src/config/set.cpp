#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>

#include "config/config_loader.h"
#include "config/source_text.h"
#include "config/tree_builder.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

struct PathPart {
  std::string key;
  Mark mark;
  std::string path;  ///< up to and including this key: "train.optimizer"
};

/// Index that appends to a list.
constexpr std::string_view kBehind = "+";

bool is_type_name(const std::string& key) { return !key.empty() && key[0] >= 'A' && key[0] <= 'Z'; }

std::optional<std::size_t> index_in(const std::string& key, std::size_t size) {
  std::size_t index = 0;
  const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  return error == std::errc() && rest == key.data() + key.size() && index < size ? std::optional(index) : std::nullopt;
}

/// Whether a word may name a type, as `adam` does: not a number, a boolean or a path.
bool may_name_type(const Node& node) {
  const std::string& text = node.str();
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return node.is_scalar() && !node.quoted() && !text.empty() &&
         std::isalpha(static_cast<unsigned char>(text[0])) != 0 && std::ranges::all_of(text, fits) && text != "true" &&
         text != "false";
}

/// The arguments of `Adam: {...}` if it is the only entry of its mapping and the key is not itself a type; else null.
Node* arguments_of_only_type(Node& map, const std::string& key) {
  if (map.entries().size() != 1 || is_type_name(key)) return nullptr;
  Node::Entry& only = map.entries().front();
  return is_type_name(only.key) && (only.value.is_map() || only.value.is_null()) ? &only.value : nullptr;
}

/// The arguments of `Dense: {name: classes, ...}` if its name is `name`; else null.
Node* arguments_of(Node& item, const std::string& name) {
  if (!item.is_map() || item.entries().size() != 1 || !item.entries().front().value.is_map()) return nullptr;
  Node& arguments = item.entries().front().value;
  const Node* own = arguments.find("name");
  return own != nullptr && own->is_scalar() && own->str() == name ? &arguments : nullptr;
}

/// `Adam`, or `Adam: {...}` as the only entry of its mapping.
bool is_of_type(const Node& item, const std::string& type) {
  return item.is_scalar() ? item.str() == type : item.entries().size() == 1 && item.entries().front().key == type;
}

/// "Conv2D" for the item `Conv2D: {...}`, else "".
std::string type_of(const Node& item) {
  if (item.is_scalar()) return is_type_name(item.str()) ? item.str() : "";
  return item.entries().size() == 1 && is_type_name(item.entries().front().key) ? item.entries().front().key : "";
}

/// Whether `name` may be the automatic name of a step of this type: 'conv2d' or 'conv2d_1' for Conv2D.
bool is_automatic_name(std::string name, const std::string& type) {
  const std::size_t number = name.find_last_not_of("0123456789");
  if (number != std::string::npos && number + 1 < name.size() && name[number] == '_') name.resize(number);
  std::erase(name, '_');
  return !type.empty() && std::ranges::equal(name, type, [](char a, char b) {
    return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
  });
}

class Setter {
 public:
  Setter(Node value, Diagnostics& diagnostics) : value_(std::move(value)), diagnostics_(diagnostics) {}

  void at(Node& node, std::span<const PathPart> steps) {
    const PathPart& step = steps.front();
    if (node.is_null() && step.key == kBehind) node = Node::sequence({}, step.mark);
    if (node.is_sequence()) return in_list(node, steps);
    if (node.is_map()) return in_map(node, steps);
    if (may_name_type(node) && !is_type_name(step.key)) {
      const std::string type = node.str();
      node = Node::map(step.mark);
      node.entries().push_back({type, step.mark, Node::map(step.mark)});
      return in_map(node.entries().front().value, steps);
    }
    if (!node.is_null() && !is_type_name(step.key)) {
      const std::string where = step.path.substr(0, step.path.size() - std::min(step.path.size(), step.key.size() + 1));
      diagnostics_.error(step.mark, fmt::format("'{}' is {}, it has no key '{}'", where, node.describe(), step.key));
      return;
    }
    node = Node::map(step.mark);  // a bare type name, or null
    in_map(node, steps);
  }

 private:
  void in_map(Node& map, std::span<const PathPart> steps) {
    const PathPart& step = steps.front();
    Node* present = map.find(step.key);
    if (present == nullptr) {
      if (Node* arguments = arguments_of_only_type(map, step.key)) return at(*arguments, steps);
      map.entries().push_back({step.key, step.mark, Node()});
      present = &map.entries().back().value;
    }
    down(*present, steps);
  }

  void in_list(Node& list, std::span<const PathPart> steps) {
    const PathPart& step = steps.front();
    if (step.key == kBehind) return down(list.items().emplace_back(), steps);
    if (const auto index = index_in(step.key, list.items().size())) return down(list.items()[*index], steps);
    std::vector<Node*> typed;
    for (Node& item : list.items())
      if (is_of_type(item, step.key)) typed.push_back(&item);
    if (typed.size() == 1) return at(*typed.front(), steps);
    if (typed.empty())
      for (Node& item : list.items())
        if (Node* arguments = arguments_of(item, step.key)) return down(*arguments, steps);
    if (!typed.empty())
      diagnostics_.error(step.mark, fmt::format("'{}' occurs {} times in the list; give its index, counted from 0",
                                                step.key, typed.size()));
    else
      diagnostics_.error(step.mark, fmt::format("the list has {} items, counted from 0, and none is '{}'{}",
                                                list.items().size(), step.key, other_paths(list, step)));
  }

  /// Suggests the index for the automatic name of a step, which the config does not contain: "...: model.layers.1".
  static std::string other_paths(const Node& list, const PathPart& step) {
    const std::string before = step.path.substr(0, step.path.size() - step.key.size());
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < list.items().size(); ++i)
      if (is_automatic_name(step.key, type_of(list.items()[i]))) paths.push_back(fmt::format("{}{}", before, i));
    if (paths.empty()) return "";
    return fmt::format("; automatic names are not in the config: write the index, {}", join(paths, " or "));
  }

  void down(Node& node, std::span<const PathPart> steps) {
    if (steps.size() > 1)
      at(node, steps.subspan(1));
    else
      node = value_;
  }

  Node value_;
  Diagnostics& diagnostics_;
};

}  // namespace

void apply_set(Node& root, const std::string& assignment, Diagnostics& diagnostics) {
  // Blanks out the path and parses the rest, so that the marks of the value fit the assignment.
  const std::size_t equals = std::min(assignment.find('='), assignment.size());
  std::string value = assignment;
  const int path_columns = columns_of(std::string_view(assignment).substr(0, equals)) + 1;
  value.replace(0, std::min(equals + 1, value.size()), static_cast<std::size_t>(path_columns), ' ');

  const auto shown = SourceText::check(assignment, "--set", ".", diagnostics);
  if (!shown) return;
  const Mark whole = shown->mark(0, assignment.size());
  std::vector<PathPart> steps;
  std::size_t begin = 0;
  for (std::string& key : split(std::string_view(assignment).substr(0, equals), '.')) {
    const std::size_t end = begin + key.size();
    steps.push_back({std::move(key), shown->mark(begin, end - begin), assignment.substr(0, end)});
    begin = end + 1;
  }
  const bool empty_key =
      std::any_of(steps.begin(), steps.end(), [](const PathPart& s) { return trim(s.key) != s.key || s.key.empty(); });
  if (equals == assignment.size() || empty_key) {
    diagnostics.error(whole, "expected a path of keys and a value, as in train.optimizer.Adam.learning_rate=3e-4");
    return;
  }

  const std::size_t errors = diagnostics.errors().size();
  Node parsed = parse_yaml(SourceText(std::move(value), whole.source), diagnostics);
  if (diagnostics.errors().size() > errors) return;
  if (!parsed.mark().known()) parsed.set_mark(shown->mark(equals, 1));
  if (static_cast<int>(steps.size()) + depth(parsed) > TreeBuilder::kMaxDepth) {
    diagnostics.error(whole, fmt::format("more than {} levels of lists and mappings", TreeBuilder::kMaxDepth));
    return;
  }
  Setter(std::move(parsed), diagnostics).at(root, steps);
}

}  // namespace dptrain::config
