#include <algorithm>
#include <limits>

#include "core/format.h"
#include "core/text.h"
#include "graph/graph.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

const Node& node_at(const Graph& graph, int node) { return graph.nodes[static_cast<std::size_t>(node)]; }

/// Splits "lstm.state_h" at its last point; the second part is empty if there is none.
std::pair<std::string, std::string> cut_name(const std::string& name) {
  const std::size_t point = name.rfind('.');
  if (point == std::string::npos) return {name, ""};
  return {name.substr(0, point), name.substr(point + 1)};
}

}  // namespace

const nn::OutputDef& tensor_of(const Graph& graph, const Port& port) {
  return node_at(graph, port.node).outputs[static_cast<std::size_t>(port.port)];
}

std::string name_of(const Graph& graph, const Port& port) {
  const Node& node = node_at(graph, port.node);
  return port.port == 0 ? node.name : node.name + "." + node.outputs[static_cast<std::size_t>(port.port)].name;
}

Port find_port(const Graph& graph, const StepNames& names, const std::string& name) {
  if (const auto step = names.find(name); step != names.end()) return step->second;
  const auto [owner, output] = cut_name(name);
  const auto step = names.find(owner);
  if (step == names.end() || step->second.node < 0 || output.empty()) return -1;
  const int node = step->second.node;
  const std::vector<nn::OutputDef>& outputs = node_at(graph, node).outputs;
  if (output.size() == 1 && output[0] >= '0' && output[0] <= '9') {  // as Keras's files number them
    const int which = output[0] - '0';
    const bool there = which < static_cast<int>(outputs.size()) && !outputs[static_cast<std::size_t>(which)].is_mask;
    return there ? Port(node, which) : Port(-1);
  }
  const auto found = std::ranges::find(outputs, output, &nn::OutputDef::name);
  return found == outputs.end() || found->is_mask ? Port(-1) : Port(node, static_cast<int>(found - outputs.begin()));
}

std::string port_hint(const Graph& graph, const StepNames& names, const std::string& name) {
  const std::string owner = cut_name(name).first;
  const auto step = names.find(owner);
  if (owner == name || step == names.end() || step->second.node < 0) return "";
  const std::vector<nn::OutputDef>& outputs = node_at(graph, step->second.node).outputs;
  std::vector<std::string> known;
  for (const nn::OutputDef& output : outputs)
    if (!output.is_mask) known.push_back(owner + "." + output.name);
  if (known.size() == 1) return fmt::format("; {} has one output, write {}", owner, owner);
  return fmt::format("; {} has the outputs {}", owner, join(known, ", "));
}

std::int64_t id_limit(const Graph& graph, int input) {
  if (node_at(graph, input).outputs.front().type != DType::kI32) return 0;
  std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  std::vector<bool> same(graph.nodes.size(), false);  // nodes that output these ids
  same[static_cast<std::size_t>(input)] = true;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto reads = [&](const Port& port) { return same[static_cast<std::size_t>(port.node)]; };
    if (std::ranges::none_of(graph.nodes[n].inputs, reads)) continue;
    const config::Typed& spec = layer_of(graph, graph.nodes[n]).spec;
    const nn::LayerType& type = nn::type_of(spec);
    if (type.is_view) same[n] = true;
    if (type.id_limit) limit = std::min(limit, type.id_limit(spec.spec()));
  }
  return limit;
}

}  // namespace dptrain::graph
