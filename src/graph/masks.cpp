#include "graph/masks.h"

#include <algorithm>
#include <iterator>

#include "core/format.h"
#include "layers/layer.h"

namespace dptrain::graph {
namespace {

using layers::MaskRule;

const Layer& layer_behind(const Graph& graph, const Node& node) {
  return graph.layers[static_cast<std::size_t>(node.layer)];
}

MaskRule rule_of(const Graph& graph, const Node& node) {
  const Layer& layer = layer_behind(graph, node);
  return layers::type_of(layer.spec).mask_rule(layer.spec.spec(), layer.inputs);
}

const Mask& of(const std::vector<std::vector<Mask>>& masks, const Port& port) {
  return masks[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)];
}

bool before(const Port& a, const Port& b) { return std::pair(a.node, a.port) < std::pair(b.node, b.port); }

/// Valid in any of them (Keras's Merge); without a mask where one has none.
Mask joined(const std::vector<Port>& inputs, const std::vector<std::vector<Mask>>& masks) {
  Mask all;
  for (const Port& input : inputs) {
    const Mask& one = of(masks, input);
    if (one.empty()) return {};
    Mask both;
    std::ranges::set_union(all, one, std::back_inserter(both), before);
    all = std::move(both);
  }
  return all;
}

}  // namespace

std::vector<std::vector<Mask>> masks(const Graph& graph) {
  std::vector<std::vector<Mask>> all;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    std::vector<Mask>& own = all.emplace_back(node.outputs.size());
    switch (rule_of(graph, node)) {
      case MaskRule::kProduces: {
        const int last = static_cast<int>(node.outputs.size()) - 1;
        for (int p = 0; p < last; ++p) own[static_cast<std::size_t>(p)] = {Port(n, last)};
        break;
      }
      case MaskRule::kPasses:
      case MaskRule::kHeeds: own.front() = of(all, node.inputs.front()); break;
      case MaskRule::kJoins: own.front() = joined(node.inputs, all); break;
      case MaskRule::kEnds:
      case MaskRule::kDrops: break;
    }
  }
  return all;
}

void check_masks(const Graph& graph, config::Reader& reader) {
  const std::vector<std::vector<Mask>> all = masks(graph);
  for (const Node& node : graph.nodes) {
    const Mask* found = nullptr;  // the one that joins several, where there is such
    for (const Port& input : node.inputs)
      if (const Mask& one = of(all, input); !one.empty() && (found == nullptr || one.size() > 1)) found = &one;
    if (found == nullptr) continue;
    const Mask& mask = *found;
    const Layer& layer = layer_behind(graph, node);
    const std::string from = graph.nodes[static_cast<std::size_t>(mask.front().node)].name;
    const config::Reader::Subject subject(reader, fmt::format("{} '{}'", layer.spec.name(), node.name));
    const MaskRule rule = rule_of(graph, node);
    if (rule == MaskRule::kHeeds)
      reader.error(node.mark,
                   fmt::format("its input has the mask of '{}', which Keras's layer heeds and this version's does not; "
                               "put it behind a layer that ends the mask, or do without the mask",
                               from));
    else if (rule == MaskRule::kDrops)
      reader.diagnostics().warn(node.mark, fmt::format("{} '{}' loses the mask of '{}': what comes after does not know "
                                                       "which steps are padding (so it is in Keras)",
                                                       layer.spec.name(), node.name, from));
    else if (layers::type_of(layer.spec).heeds_masks && mask.size() > 1)
      reader.error(node.mark, fmt::format("its input joins the masks of '{}' and '{}', which this version cannot; give "
                                          "one of them mask_zero: false",
                                          from, graph.nodes[static_cast<std::size_t>(mask[1].node)].name));
  }
}

}  // namespace dptrain::graph
