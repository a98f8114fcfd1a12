#include "formats/onnx/onnx_model.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "formats/onnx/input_preparation.h"
#include "formats/onnx/onnx_layer.h"
#include "formats/onnx/transposes.h"
#include "graph/expansion.h"
#include "graph/masks.h"
#include "nn/layer.h"
#include "nn/reshaping.h"

namespace dptrain::formats::onnx {
namespace {

class Converter {
 public:
  Converter(const graph::Model& model, int opset, const ModelGraphOptions& options)
      : model_(model),
        preparation_(options.preparation),
        to_(model.graph.name.empty() ? "model" : model.graph.name, opset),
        input_preparation_(to_) {
    to_.free_steps(options.steps_are_free);
  }

  Graph convert() {
    reserve_names();
    const std::vector<std::vector<graph::Mask>> masks = graph::masks(model_.graph);
    for (const graph::Node& node : model_.graph.nodes) {
      std::vector<Value>& own = values_.emplace_back(write(node, masks));
      // A layer that does nothing returns its input, with the same mask.
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

  /// Reserves the names of inputs and outputs, so that no other value takes them.
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

  /// The preparation of an Input whose samples are raw; else null.
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
      return {input_preparation_.input(*prepared, node.name, node.output(), element_of(spec))};
    }
    const bool uses_masks = nn::type_of(layer.spec).uses_masks;
    Call call{.to = to_, .inputs = {}, .masks = {}, .weights = {}, .layer = layer.name, .output = node.output()};
    for (const graph::Port& port : node.inputs) call.inputs.push_back(at(port));
    // A layer that reads masks has no input whose mask joins several (graph::check_masks).
    for (const graph::Mask& mask : graph::input_masks(model_.graph, node, masks))
      call.masks.push_back(uses_masks && !mask.empty() ? at(mask.front()) : Value{});
    for (const int weight : layer.weights) call.weights.push_back(&model_.weights[static_cast<std::size_t>(weight)]);
    return write_layer(layer.spec, call);
  }

  /// The graph's outputs get the names of their steps.
  void name_outputs(Graph& graph) const {
    std::set<std::string> fixed;  // names of inputs, constants and earlier outputs
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
  InputPreparation input_preparation_;
  std::vector<std::vector<Value>> values_;  ///< outputs of each node
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

namespace {

/// Range of lengths tried around the config's; it reveals strides and pools up to this size.
constexpr std::int64_t kReach = 8;
constexpr std::size_t kMin = 3;  ///< lengths that must fit the model, at least

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("--free-steps: {}; without it sequences have the config's length", why));
}

/// Whether the input has ids or steps of features.
bool is_sequence(const nn::OutputDef& input) { return input.shape.rank() == (input.type == DType::kI32 ? 1 : 2); }

/// The common length of all input sequences.
std::int64_t length_of(const graph::Graph& graph) {
  std::int64_t length = 0;
  for (const int input : graph.inputs) {
    const nn::OutputDef& one = graph.nodes[static_cast<std::size_t>(input)].outputs.front();
    if (!is_sequence(one)) continue;
    if (length != 0 && one.shape[0] != length)
      refuse(fmt::format("the inputs have sequences of {} and of {} steps, but only one length can be free", length,
                         one.shape[0]));
    length = one.shape[0];
  }
  if (length == 0) refuse("no input is a sequence: neither ids nor [steps, features]");
  return length;
}

/// Whether the layer's weights have the same shapes for these inputs.
bool fits_weights(const graph::Model& model, const graph::Layer& layer, const std::vector<Shape>& inputs) {
  const std::vector<nn::WeightDef> defs = nn::type_of(layer.spec).weights(layer.spec.spec(), inputs);
  for (std::size_t i = 0; i < layer.weights.size(); ++i)
    if (defs[i].shape != model.weights[static_cast<std::size_t>(layer.weights[i])].def.shape) return false;
  return true;
}

/// Sets the length of the graph's input sequences; false if a layer refuses that length.
bool set_length(graph::Model& model, std::int64_t length) {
  graph::Graph& graph = model.graph;
  for (const int input : graph.inputs) {
    nn::OutputDef& out = graph.nodes[static_cast<std::size_t>(input)].outputs.front();
    if (!is_sequence(out)) continue;
    std::vector<std::int64_t> dims = out.shape.dims();
    dims[0] = length;
    out.shape = Shape(std::move(dims));
  }
  for (graph::Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    const graph::Layer& layer = graph.layers[static_cast<std::size_t>(node.layer)];
    std::vector<nn::TensorDef> inputs;
    std::vector<Shape> shapes;
    std::vector<std::string> names;
    for (const graph::Port& port : node.inputs) {
      const nn::OutputDef& tensor = graph::tensor_of(graph, port);
      inputs.push_back({tensor.shape, tensor.type});
      shapes.push_back(tensor.shape);
      names.push_back(graph::name_of(graph, port));
    }
    try {
      node.outputs = graph::infer(layer.spec, inputs, names);
    } catch (const nn::LayerError&) {
      return false;
    }
    if (!fits_weights(model, layer, shapes))
      refuse(fmt::format("the weights of '{}' depend on the length", layer.name));
  }
  return true;
}

bool same(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  const auto* one = std::get_if<std::shared_ptr<const Graph>>(&a);
  if (one == nullptr) return a == b;
  const Graph &inner = **one, &other = **std::get_if<std::shared_ptr<const Graph>>(&b);
  const auto equal = [](const Node& x, const Node& y) {
    return x.op == y.op && x.inputs == y.inputs && x.outputs == y.outputs &&
           std::ranges::equal(x.attributes, y.attributes, [](const Attribute& p, const Attribute& q) {
             return p.name == q.name && same(p.value, q.value);
           });
  };
  return std::ranges::equal(inner.nodes, other.nodes, equal);
}

/// Name of the first node that differs or reads a different constant; nothing if all are equal.
std::optional<std::string> difference(const Graph& a, const Graph& b) {
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const Node& one = a.nodes[i];
    if (i >= b.nodes.size()) return one.name;
    const Node& other = b.nodes[i];
    if (one.op != other.op || one.inputs != other.inputs || one.outputs != other.outputs ||
        !std::ranges::equal(one.attributes, other.attributes,
                            [](const Attribute& p, const Attribute& q) { return same(p.value, q.value); }))
      return one.name;
    for (const std::string& input : one.inputs) {
      const auto here = a.constants.find(input), there = b.constants.find(input);
      if ((here == a.constants.end()) != (there == b.constants.end())) return one.name;
      if (here == a.constants.end()) continue;
      if (here->second.dims != there->second.dims || here->second.values != there->second.values) return one.name;
    }
  }
  return std::nullopt;
}

/// Frees extents that differ between two lengths: those equal to the lengths are kSteps, others kNameless.
void free_extents(std::vector<Value>& values, const std::vector<Value>& others, std::int64_t length,
                  std::int64_t other) {
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t axis = 0; axis < values[i].dims.size(); ++axis) {
      std::int64_t& extent = values[i].dims[axis];
      const std::int64_t there = others[i].dims[axis];
      if (extent != there) extent = extent == length && there == other ? kSteps : kNameless;
    }
}

}  // namespace

Graph free_steps_graph(const graph::Model& model, std::int64_t opset) {
  const std::int64_t length = length_of(model.graph);
  const ModelGraphOptions options{.preparation = nullptr, .steps_are_free = true};
  Graph graph = model_graph(model, opset, options);
  graph::Model other = model;
  std::size_t tried = 0;
  std::optional<std::pair<std::int64_t, Graph>> last;
  // Not 1: an extent of 1 is broadcast and matches others.
  for (std::int64_t next = std::max<std::int64_t>(2, length - kReach); next <= length + kReach; ++next) {
    if (next == length || !set_length(other, next)) continue;
    Graph made = model_graph(other, opset, options);
    if (const auto where = difference(graph, made))
      refuse(
          fmt::format("the node '{}' depends on the length: it differs between {} and {} steps", *where, next, length));
    last.emplace(next, std::move(made));
    ++tried;
  }
  if (tried < kMin) refuse(fmt::format("the model supports hardly any length other than {}", length));
  free_extents(graph.inputs, last->second.inputs, length, last->first);
  free_extents(graph.outputs, last->second.outputs, length, last->first);
  return graph;
}

}  // namespace dptrain::formats::onnx
