#include "experiment/model_side.h"

#include <algorithm>

#include "layers/masking.h"

namespace dptrain::experiment {

namespace {

/// Of the Masking that reads an input.
std::optional<double> padding_of(const graph::Graph& graph, int input) {
  for (const graph::Node& node : graph.nodes) {
    if (std::ranges::none_of(node.inputs, [&](const graph::Port& port) { return port.node == input; })) continue;
    const config::Typed& spec = graph.layers[static_cast<std::size_t>(node.layer)].spec;
    if (const auto* masking = spec.get_if<layers::MaskingSpec>()) return masking->mask_value;
  }
  return std::nullopt;
}

}  // namespace

data::ModelSide input_side(const graph::Graph& graph) {
  data::ModelSide side;
  for (const int input : graph.inputs) {
    const graph::Node& node = graph.nodes[static_cast<std::size_t>(input)];
    side.input_names.push_back(node.name);
    side.input_shapes.push_back(node.output());
    side.input_types.push_back(node.outputs.front().type);
    side.id_limits.push_back(graph::id_limit(graph, input));
    side.paddings.push_back(padding_of(graph, input));
  }
  return side;
}

void check_length_buckets(config::Reader& reader, const DataSection& data, const graph::Graph& graph) {
  const BucketByLength& wish = data.loader.bucket_by_length;
  if (wish.window == 0) return;
  const data::ModelSide side = input_side(graph);
  for (std::size_t i = 0; i < side.input_shapes.size(); ++i)
    if (side.has_lengths(i)) return;
  reader.error(wish.mark, data::kNoLengths);
}

}  // namespace dptrain::experiment
