#include "export/onnx/onnx_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "export/onnx/onnx_layer.h"
#include "export/onnx/preparing.h"
#include "export/onnx/transposes.h"
#include "graph/masks.h"
#include "nn/input.h"
#include "nn/layer.h"

namespace dptrain::exporting::onnx {
namespace {

class Converter {
 public:
  Converter(const graph::Model& model, int opset, const ModelGraphOptions& options)
      : model_(model),
        preparation_(options.preparation),
        to_(model.graph.name.empty() ? "model" : model.graph.name, opset),
        preparing_(to_) {
    to_.free_steps(options.steps_are_free);
  }

  Graph convert() {
    reserve_names();
    const std::vector<std::vector<graph::Mask>> masks = graph::masks(model_.graph);
    for (const graph::Node& node : model_.graph.nodes) {
      std::vector<Value>& own = values_.emplace_back(write(node, masks));
      // Where a layer does nothing, its value is another one's, with the same mask.
      own.resize(node.outputs.size());
    }
    Graph graph = std::move(to_.graph());
    for (const graph::Port& port : model_.graph.outputs) graph.outputs.push_back(at(port));
    cancel_transposes(graph);
    name_outputs(graph);
    return graph;
  }

 private:
  const Value& at(const graph::Port& port) const {
    return values_[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)];
  }

  /// Names of inputs and outputs are those of steps, whatever else would like them.
  void reserve_names() {
    std::set<std::string> inputs;
    for (const int input : model_.graph.inputs) inputs.insert(model_.graph.nodes[static_cast<std::size_t>(input)].name);
    if (preparation_ != nullptr)
      for (const auto& input : preparation_->inputs)
        if (input)
          for (const PreparedColumn& column : input->columns) inputs.insert(column.name);
    for (const graph::Port& port : model_.graph.outputs) {
      std::string name = graph::name_of(model_.graph, port);
      while (inputs.contains(name)) name += "_output";
      output_names_.push_back(to_.unique(name));
    }
  }

  /// Of an Input whose samples come raw; else null.
  const PreparedInput* prepared_of(const graph::Node& node) const {
    if (preparation_ == nullptr) return nullptr;
    for (std::size_t i = 0; i < model_.graph.inputs.size(); ++i)
      if (&model_.graph.nodes[static_cast<std::size_t>(model_.graph.inputs[i])] == &node && preparation_->inputs[i])
        return &*preparation_->inputs[i];
    return nullptr;
  }

  std::vector<Value> write(const graph::Node& node, const std::vector<std::vector<graph::Mask>>& masks) {
    const graph::Layer& layer = model_.graph.layers[static_cast<std::size_t>(node.layer)];
    to_.set_scope(node.name);
    if (const PreparedInput* prepared = prepared_of(node)) {
      const auto& spec = *layer.spec.get_if<nn::InputSpec>();
      return {preparing_.input(*prepared, node.name, node.output(), element_of(spec))};
    }
    const bool heeds = nn::type_of(layer.spec).heeds_masks;
    Call call{.to = to_, .inputs = {}, .masks = {}, .weights = {}, .layer = layer.name, .output = node.output()};
    for (const graph::Port& port : node.inputs) call.inputs.push_back(at(port));
    // A layer that heeds masks has none that joins several (graph::check_masks).
    for (const graph::Mask& mask : graph::input_masks(model_.graph, node, masks))
      call.masks.push_back(heeds && !mask.empty() ? at(mask.front()) : Value{});
    for (const int weight : layer.weights) call.weights.push_back(&model_.weights[static_cast<std::size_t>(weight)]);
    return write_layer(layer.spec, call);
  }

  /// The graph's outputs get the names of their steps.
  void name_outputs(Graph& graph) const {
    std::set<std::string> fixed;  // not a node's, or an output's already
    for (const Value& input : graph.inputs) fixed.insert(input.name);
    for (const auto& [name, constant] : graph.constants) fixed.insert(name);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      Value& output = graph.outputs[i];
      const std::string from = output.name, &to = output_names_[i];
      if (fixed.contains(from)) {
        graph.nodes.push_back({"Identity", to + "/Identity", {from}, {to}, {}});
      } else {
        for (Node& node : graph.nodes) {
          std::ranges::replace(node.inputs, from, to);
          std::ranges::replace(node.outputs, from, to);
        }
        for (std::size_t other = i + 1; other < graph.outputs.size(); ++other)
          if (graph.outputs[other].name == from) graph.outputs[other].name = to;
      }
      output.name = to;
      fixed.insert(to);
    }
  }

  const graph::Model& model_;
  const Preparation* preparation_;
  Builder to_;
  Preparing preparing_;
  std::vector<std::vector<Value>> values_;  ///< of each node's outputs
  std::vector<std::string> output_names_;
};

}  // namespace

Graph model_graph(const graph::Model& model, std::int64_t opset, const ModelGraphOptions& options) {
  if (opset < kLowestOpset || opset > kHighestOpset)
    throw Error(ErrorKind::kUsage, fmt::format("ONNX: opset {} is not one of {} to {}, which this version writes",
                                               opset, kLowestOpset, kHighestOpset));
  return Converter(model, static_cast<int>(opset), options).convert();
}

int ir_version_of(int opset) {
  if (opset < 15) return 7;
  if (opset < 19) return 8;
  return opset < 21 ? 9 : 10;
}

}  // namespace dptrain::exporting::onnx
