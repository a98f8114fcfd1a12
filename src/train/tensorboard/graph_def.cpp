#include "train/tensorboard/graph_def.h"

#include <vector>

#include "core/index.h"
#include "core/text.h"
#include "train/tensorboard/wire.h"

namespace dptrain::train::tensorboard {
namespace {

constexpr int kProducer = 22;  ///< of graphs with versions as TensorFlow 1 and 2 write them

/// "stage1/conv1" of "stage1_conv1" in the block "stage1".
std::string scoped_name(const graph::Node& node) {
  std::string scope, name = node.name, outer;
  for (const graph::BlockUse& block : node.blocks) {
    std::string own = block.name;
    if (own.empty() || own == outer) continue;
    if (!outer.empty() && own.starts_with(outer) && own.size() > outer.size() + 1) own.erase(0, outer.size() + 1);
    scope += own + "/";
    outer = block.name;
  }
  if (!outer.empty() && name.starts_with(outer) && name.size() > outer.size() + 1) name.erase(0, outer.size() + 1);
  return scope + name;
}

/// TensorShapeProto: dim = 2, Dim.size = 1. The batch is unknown.
Message shape_of(const nn::OutputDef& output) {
  Message shape = Message().message(2, Message().integer(1, -1));
  for (const std::int64_t extent : output.shape.dims()) shape.message(2, Message().integer(1, extent));
  return shape;
}

/// NodeDef.attr = 5, a map: key = 1, value = 2.
void add_attribute(Message& node, const std::string& key, const Message& value) {
  node.message(5, Message().text(1, key).message(2, value));
}

void add_arguments(Message& node, const config::Typed& spec) {
  const config::Node written = spec.write();
  if (!written.is_map()) return;  // a layer without keys
  for (const config::Node::Entry& argument : written.entries().front().value.entries()) {
    const config::Node& value = argument.value;
    if (value.is_null()) continue;
    const std::string text = value.is_scalar() ? value.str() : trim(config::to_yaml(value));
    add_attribute(node, argument.key, Message().text(2, text));  // AttrValue.s = 2
  }
}

}  // namespace

std::string graph_def(const graph::Model& model) {
  const graph::Graph& graph = model.graph;
  std::vector<std::string> names;
  Message all;
  for (const graph::Node& node : graph.nodes) {
    const graph::Layer& layer = graph.layers[at(node.layer)];
    names.push_back(scoped_name(node));
    Message def = Message().text(1, names.back()).text(2, layer.spec.name());
    for (const graph::Port& input : node.inputs)
      def.text(3, names[at(input.node)] + (input.port > 0 ? ":" + std::to_string(input.port) : ""));
    if (!node.device.empty()) def.text(4, node.device);
    add_arguments(def, layer.spec);
    std::int64_t parameters = 0;
    for (const int weight : layer.weights) parameters += model.weights[at(weight)].def.shape.elements();
    if (parameters > 0) add_attribute(def, "parameters", Message().integer(3, parameters));  // AttrValue.i = 3
    if (parameters > 0) add_attribute(def, "trainable", Message().integer(5, layer.trainable ? 1 : 0));  // .b = 5
    Message shapes;  // AttrValue.list = 1, ListValue.shape = 7
    for (const nn::OutputDef& output : node.outputs) shapes.message(7, shape_of(output));
    add_attribute(def, "_output_shapes", Message().message(1, shapes));
    all.message(1, def);
  }
  return all.message(4, Message().integer(1, kProducer)).bytes();
}

}  // namespace dptrain::train::tensorboard
