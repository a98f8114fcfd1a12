#include "graph/step.h"

#include "core/format.h"

namespace dptrain::graph {

const std::vector<std::string>& reserved_arguments() {
  static const std::vector<std::string> names{"name", "inputs", "device", "repeat", "trainable", "if"};
  return names;
}

const std::vector<std::string>& reserved_layer_arguments() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = reserved_arguments();
    all.emplace_back("mask");
    return all;
  }();
  return names;
}

std::optional<ListedStep> read_step(const config::Node& node, config::Reader& reader) {
  if (node.is_scalar() && !node.str().empty()) return ListedStep{node.str(), node.mark(), {}};
  if (node.is_map() && node.entries().size() == 1) {
    const auto& entry = node.entries().front();
    return ListedStep{entry.key, entry.mark, entry.value};
  }
  if (node.is_map() && node.entries().size() > 1) {
    const auto &type = node.entries()[0], &second = node.entries()[1];
    reader.error(second.mark,
                 fmt::format("a step is one 'Type: {{arguments}}', found '{}' beside '{}'; put the arguments in braces "
                             "or indent them further",
                             second.key, type.key));
  } else {
    reader.error(node, fmt::format("a step is 'Type' or 'Type: {{arguments}}', found {}", node.describe()));
  }
  return std::nullopt;
}

}  // namespace dptrain::graph
