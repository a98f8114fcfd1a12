#include <algorithm>

#include "config/load.h"
#include "core/format.h"
#include "core/text.h"
#include "report/record.h"

namespace dptrain::report {
namespace {

using config::Node;

bool is_plain(const Node& node) {
  return !node.is_map() && (!node.is_sequence() || std::ranges::all_of(node.items(), is_plain));
}

std::string plain_text(const Node& node) {
  if (node.is_null()) return "null";
  if (!node.is_sequence()) return node.str();
  std::vector<std::string> parts;
  for (const Node& item : node.items()) parts.push_back(plain_text(item));
  return "[" + join(parts, ", ") + "]";
}

/// "conv1" of a layer, "EarlyStopping" of a callback; "" where a part of a list has no name.
std::string name_of(const Node& item) {
  if (!item.is_map()) return item.is_scalar() ? item.str() : "";
  if (item.entries().size() != 1) return "";
  const Node::Entry& only = item.entries().front();
  const Node* const name = only.value.find("name");
  return name != nullptr && name->is_scalar() ? name->str() : only.key;
}

class Flattener {
 public:
  void walk(const Node& node, const std::string& place) {
    if (is_plain(node))
      fields_.emplace_back(place, plain_text(node));
    else if (node.is_sequence())
      walk_list(node, place);
    else
      for (const Node::Entry& entry : node.entries())
        walk(entry.value, place.empty() ? entry.key : place + "." + entry.key);
  }
  Fields fields_;

 private:
  void walk_list(const Node& node, const std::string& place) {
    std::vector<std::string> names;
    for (const Node& item : node.items()) names.push_back(name_of(item));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool known = !names[i].empty() && std::ranges::count(names, names[i]) == 1;
      const Node& item = node.items()[i];
      const Node& inside = item.is_map() && item.entries().size() == 1 ? item.entries().front().value : item;
      const std::string here = place + "." + (known ? names[i] : std::to_string(i));
      if (item.is_scalar())
        fields_.emplace_back(here, known ? "yes" : item.str());
      else
        walk(known ? inside : item, here);
    }
  }
};

}  // namespace

Fields settings_of(const std::string& yaml) {
  config::Diagnostics ignored;
  const Node root = config::load_text(yaml, "config.resolved.yaml", "", ignored);
  Flattener all;
  if (root.is_map()) all.walk(root, "");
  return all.fields_;
}

std::vector<Change> changes(const Fields& before, const Fields& now) {
  std::vector<Change> found;
  for (const auto& [name, value] : now)
    if (const std::string& was = value_of(before, name); was != value) found.push_back({name, was, value});
  for (const auto& [name, was] : before)
    if (!was.empty() && value_of(now, name).empty()) found.push_back({name, was, ""});
  return found;
}

std::vector<Change> changes(const experiment::Experiment& before, const experiment::Experiment& now) {
  const auto settings = [](const experiment::Experiment& of) {
    return settings_of(config::to_yaml(experiment::resolved(of)));
  };
  return changes(settings(before), settings(now));
}

const std::string& value_of(const Fields& fields, const std::string& name) {
  static const std::string kNone;
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? kNone : found->second;
}

}  // namespace dptrain::report
