#include "experiment/model_side.h"

namespace dptrain::experiment {

data::ModelSide input_side(const graph::Graph& graph) {
  data::ModelSide side;
  for (const int input : graph.inputs) {
    const graph::Node& node = graph.nodes[static_cast<std::size_t>(input)];
    side.input_names.push_back(node.name);
    side.input_shapes.push_back(node.output());
    side.input_types.push_back(node.outputs.front().type);
    side.id_limits.push_back(graph::id_limit(graph, input));
  }
  return side;
}

}  // namespace dptrain::experiment
