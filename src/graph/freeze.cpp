#include "graph/freeze.h"

#include "core/format.h"
#include "core/text.h"

namespace dptrain::graph {
namespace {

using config::Reader;

void freeze_pattern(const config::Node& node, Expansion& expansion, Reader& reader) {
  const auto pattern = reader.text(node);
  if (!pattern) return;
  bool matched = false;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < expansion.graph.layers.size(); ++i) {
    Layer& layer = expansion.graph.layers[i];
    names.push_back(layer.name);
    if (!glob_match(*pattern, layer.name) && !glob_match(*pattern, expansion.paths[i])) continue;
    matched = true;
    layer.trainable = false;
  }
  if (!matched) reader.error(node, fmt::format("no layer is called '{}'{}", *pattern, did_you_mean(*pattern, names)));
}

void freeze_up_to(const config::Node& node, Expansion& expansion, Reader& reader) {
  const auto name = reader.text(node);
  if (!name) return;
  const auto found = expansion.names.find(*name);
  if (found == expansion.names.end()) {
    std::vector<std::string> names;
    for (const auto& [other, port] : expansion.names) names.push_back(other);
    reader.error(node, fmt::format("no step is called '{}'{}", *name, did_you_mean(*name, names)));
    return;
  }
  if (found->second.node < 0) return;
  Graph& graph = expansion.graph;
  std::vector<bool> wanted(graph.nodes.size(), false);
  wanted[static_cast<std::size_t>(found->second.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {  // inputs have smaller indices
    if (!wanted[i]) continue;
    graph.layers[static_cast<std::size_t>(graph.nodes[i].layer)].trainable = false;
    for (const Port& input : graph.nodes[i].inputs) wanted[static_cast<std::size_t>(input.node)] = true;
  }
}

}  // namespace

void freeze(const config::Node& raw, Expansion& expansion, Reader& reader) {
  const Reader::Key key(reader, "freeze");
  const config::Node node = reader.substituted(raw);
  if (node.is_null()) return;
  if (node.is_scalar()) return freeze_pattern(node, expansion, reader);
  if (node.is_sequence()) {
    for (const config::Node& pattern : node.items()) freeze_pattern(pattern, expansion, reader);
  } else if (node.entries().size() == 1 && node.entries()[0].key == "up_to") {
    freeze_up_to(node.entries()[0].value, expansion, reader);
  } else {
    reader.error(node, "freeze must be a list of patterns such as block1_*, or {up_to: name}");
  }
}

}  // namespace dptrain::graph
