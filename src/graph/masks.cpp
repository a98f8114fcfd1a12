#include "graph/masks.h"

#include <algorithm>
#include <iterator>

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

using nn::MaskRule;

MaskRule rule_of(const Graph& graph, const Node& node) {
  const Layer& layer = layer_of(graph, node);
  return nn::type_of(layer.spec).mask_rule(layer.spec.spec(), layer.inputs);
}

const Mask& of(const std::vector<std::vector<Mask>>& masks, const Port& port) {
  return masks[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)];
}

bool before(const Port& a, const Port& b) { return std::pair(a.node, a.port) < std::pair(b.node, b.port); }

/// The union of the masks, as in Keras's Merge: a step is valid if any mask has it. Empty if an input has no mask.
Mask joined(const std::vector<Mask>& inputs) {
  Mask all;
  for (const Mask& one : inputs) {
    if (one.empty()) return {};
    Mask both;
    std::ranges::set_union(all, one, std::back_inserter(both), before);
    all = std::move(both);
  }
  return all;
}

/// Whether the mask has one element per step of the tensor: [steps] for [steps, features].
bool fits(const Graph& graph, const Mask& mask, const Port& tensor) {
  std::vector<std::int64_t> steps = tensor_of(graph, tensor).shape.dims();
  if (!steps.empty()) steps.pop_back();
  return !mask.empty() && tensor_of(graph, mask.front()).shape.dims() == steps;
}

}  // namespace

std::vector<Mask> input_masks(const Graph& graph, const Node& node, const std::vector<std::vector<Mask>>& masks) {
  std::vector<Mask> all;
  for (const Port& input : node.inputs) all.push_back(node.mask ? Mask() : of(masks, input));
  if (!node.mask || node.mask->node < 0) return all;
  const Mask& given = of(masks, *node.mask);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (fits(graph, given, node.inputs[i])) all[i] = given;
  return all;
}

std::vector<Mask> output_masks(const Graph& graph, int n, const std::vector<std::vector<Mask>>& masks) {
  const Node& node = graph.nodes[static_cast<std::size_t>(n)];
  std::vector<Mask> own(node.outputs.size());
  const int last = static_cast<int>(own.size()) - 1;
  switch (rule_of(graph, node)) {
    case MaskRule::kProduces: std::fill_n(own.begin(), last, Mask{Port(n, last)}); break;
    case MaskRule::kPasses:
    case MaskRule::kUnsupported: own.front() = input_masks(graph, node, masks).front(); break;
    case MaskRule::kJoins: own.front() = joined(input_masks(graph, node, masks)); break;
    case MaskRule::kEnds:
    case MaskRule::kDrops: break;
  }
  return own;
}

std::vector<std::vector<Mask>> masks(const Graph& graph) {
  std::vector<std::vector<Mask>> all;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) all.push_back(output_masks(graph, n, all));
  return all;
}

namespace {

/// Reports a `mask` that names a tensor without a mask, or one whose steps fit no input.
bool check_given_mask(const Graph& graph, const Node& node, const std::vector<std::vector<Mask>>& all,
                      config::Reader& reader) {
  if (!node.mask || node.mask->node < 0) return true;
  const Mask& given = of(all, *node.mask);
  const std::string name = name_of(graph, *node.mask);
  if (given.empty()) {
    reader.error(node.mark, fmt::format("mask names '{}', which has no mask; name the output of an Embedding with "
                                        "mask_zero or of a Masking, or a layer that passes its mask",
                                        name));
    return false;
  }
  if (std::ranges::any_of(node.inputs, [&](const Port& input) { return fits(graph, given, input); })) return true;
  reader.error(node.mark, fmt::format("the mask of '{}' is {}, and no input has these steps: '{}' is {}", name,
                                      tensor_of(graph, given.front()).shape.str(), name_of(graph, node.inputs.front()),
                                      tensor_of(graph, node.inputs.front()).shape.str()));
  return false;
}

}  // namespace

void check_masks(const Graph& graph, config::Reader& reader) {
  const std::vector<std::vector<Mask>> all = masks(graph);
  for (const Node& node : graph.nodes) {
    const Layer& layer = layer_of(graph, node);
    const config::Reader::Subject subject(reader, fmt::format("{} '{}'", layer.spec.name(), node.name));
    if (!check_given_mask(graph, node, all, reader)) continue;
    Mask mask;  // prefers a mask that joins several
    for (const Mask& one : input_masks(graph, node, all))
      if (!one.empty() && (mask.empty() || one.size() > 1)) mask = one;
    if (mask.empty()) continue;
    const std::string from = graph.nodes[static_cast<std::size_t>(mask.front().node)].name;
    const MaskRule rule = rule_of(graph, node);
    if (rule == MaskRule::kUnsupported)
      reader.error(node.mark, fmt::format("its input has the mask of '{}', which Keras's layer uses and this version's "
                                          "does not; put it after a layer that ends the mask, or remove the mask",
                                          from));
    else if (rule == MaskRule::kDrops)
      reader.diagnostics().warn(
          node.mark, fmt::format("{} '{}' drops the mask of '{}': later layers do not mask padding (as in Keras)",
                                 layer.spec.name(), node.name, from));
    else if (nn::type_of(layer.spec).uses_masks && mask.size() > 1)
      reader.error(node.mark, fmt::format("its input joins the masks of '{}' and '{}', which this version does not "
                                          "support; remove one of the two masks",
                                          from, graph.nodes[static_cast<std::size_t>(mask[1].node)].name));
  }
}

}  // namespace dptrain::graph
