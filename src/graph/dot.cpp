#include "core/format.h"
#include "graph/model.h"

namespace dptrain::graph {

std::string to_dot(const Graph& graph) {
  // Names hold letters, digits, '_', '-' and '.': nothing that needs an escape. The experiment's name may hold
  // anything.
  std::string title;
  for (const char c : graph.name) title += c == '"' || c == '\\' ? '_' : c;
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"sans-serif\"];\n", title);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Layer& layer = graph.layers[static_cast<std::size_t>(node.layer)];
    std::string label = fmt::format("{}\\n{}", node.name, layer.spec.name());
    if (node.name != layer.name || node.call > 0) label += fmt::format(" (weights of {})", layer.name);
    for (const layers::OutputDef& output : node.outputs)
      if (!output.is_mask)
        label += fmt::format("\\n{}{}{}", output.name, output.name.empty() ? "" : " ", output.shape.str());
    text += fmt::format("  n{} [label=\"{}\"{}];\n", i, label,
                        layer.trainable ? "" : ", style=filled, fillcolor=lightgrey");
    for (const Port& input : node.inputs)
      text += fmt::format("  n{} -> n{}{};\n", input.node, i,
                          input.port == 0 ? "" : fmt::format(" [label=\"{}\"]", tensor_of(graph, input).name));
  }
  return text + "}\n";
}

}  // namespace dptrain::graph
