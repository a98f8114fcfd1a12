#pragma once

// Builds a `model:` section from text.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "config/config_loader.h"
#include "config/reader.h"
#include "graph/graph_builder.h"
#include "graph/model.h"
#include "nn/layer.h"

namespace dptrain::graph {

struct Built {
  Graph graph;
  std::string errors;  ///< as printed, without the quoted lines: "12:5 message", notes below
  std::string warnings;
};

inline Built build_text(const std::string& yaml) {
  config::Diagnostics diagnostics;
  const config::Node model = config::load_text(yaml, "net.yaml", ".", diagnostics);
  config::Reader reader(diagnostics);
  Built built;
  if (diagnostics.ok()) built.graph = build(model, "test", reader);
  for (const config::Diagnostic& d : diagnostics.errors()) {
    built.errors += std::to_string(d.mark.line) + ":" + std::to_string(d.mark.column) + " " + d.message + "\n";
    for (const auto& [mark, note] : d.notes) built.errors += "  " + note + " at " + mark.str() + "\n";
  }
  for (const config::Diagnostic& d : diagnostics.warnings()) built.warnings += d.message + "\n";
  return built;
}

/// The graph of a valid model.
inline Graph graph_of(const std::string& yaml) {
  Built built = build_text(yaml);
  if (!built.errors.empty()) throw std::runtime_error(built.errors + yaml);
  return std::move(built.graph);
}

inline std::vector<nn::WeightDef> weights_of(const Layer& layer) {
  return nn::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs);
}

inline std::int64_t parameters_of(const Graph& graph) {
  std::int64_t count = 0;
  for (const Layer& layer : graph.layers)
    for (const nn::WeightDef& weight : weights_of(layer)) count += weight.shape.elements();
  return count;
}

inline std::vector<std::string> layer_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers) names.push_back(layer.name);
  return names;
}

/// The calls with their inputs: "conv1 <- input_layer, add <- bn2 proj".
inline std::string wiring(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += (text.empty() ? "" : ", ") + node.name;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      text += (i == 0 ? " <- " : " ") + name_of(graph, node.inputs[i]);
  }
  return text;
}

/// A complete description of a graph; two graphs are equal if their descriptions are.
inline std::string describe_graph(const Graph& graph) {
  std::string text = wiring(graph) + "\n";
  for (const Layer& layer : graph.layers)
    text += layer.name + (layer.trainable ? " " : " frozen ") + config::to_yaml(layer.spec.write());
  for (const Node& node : graph.nodes)
    text += node.name + " layer " + std::to_string(node.layer) + " call " + std::to_string(node.call) + " " +
            node.output().str() + " " + node.device +
            (!node.mask            ? ""
             : node.mask->node < 0 ? " mask none"
                                   : " mask " + name_of(graph, *node.mask)) +
            "\n";
  for (const int input : graph.inputs) text += "in " + std::to_string(input) + "\n";
  for (const Port& output : graph.outputs) text += "out " + name_of(graph, output) + "\n";
  return text;
}

/// write() and build() again, both ways, give the same graph.
inline void expect_round_trip(const Graph& graph) {
  for (const bool minimal : {false, true}) {
    const std::string yaml = config::to_yaml(write(graph, minimal));
    const Built again = build_text(yaml);
    ASSERT_EQ(again.errors, "") << yaml;
    EXPECT_EQ(describe_graph(again.graph), describe_graph(graph)) << yaml;
  }
}

inline const char* const kFashionMnist = R"(
layers:
  - Input: {shape: [28, 28, 1]}
  - Conv2D: {filters: 32, kernel_size: [3, 3], activation: relu}
  - MaxPooling2D: {pool_size: [2, 2], strides: 2}
  - Conv2D: {filters: 64, kernel_size: [3, 3], activation: relu}
  - MaxPooling2D: {pool_size: [2, 2], strides: 2}
  - Conv2D: {filters: 64, kernel_size: [3, 3], activation: relu}
  - Flatten
  - Dense: {units: 64, activation: relu}
  - Dense: {units: 10, activation: softmax}
)";

inline const char* const kTowers = R"(
layers:
  - Input: {shape: [24, 24, 3]}
  - Conv2D: {name: conv1, filters: 64, kernel_size: 5, padding: same, activation: relu, kernel_initializer: &n05 {TruncatedNormal: {stddev: 0.05}}}
  - MaxPooling2D: {name: pool1, pool_size: 3, strides: 2, padding: same}
  - LocalResponseNormalization: &lrn {depth_radius: 4, bias: 1.0, alpha: 0.001/9, beta: 0.75}
  - Conv2D: {name: conv2, filters: 64, kernel_size: 5, padding: same, activation: relu, kernel_initializer: *n05, bias_initializer: {Constant: 0.1}}
  - LocalResponseNormalization: *lrn
  - MaxPooling2D: {name: pool2, pool_size: 3, strides: 2, padding: same}
  - Flatten
  - Dense: {name: local3, units: 384, <<: &local {activation: relu, kernel_initializer: {TruncatedNormal: {stddev: 0.04}}, bias_initializer: {Constant: 0.1}, kernel_regularizer: {L2: 0.002}}}
  - Dense: {name: local4, units: 192, <<: *local}
  - Dense: {name: softmax_linear, units: 10, kernel_initializer: {TruncatedNormal: {stddev: 1/192}}}
)";

inline const char* const kResidual = R"(
blocks:
  residual:
    params: {filters: required, strides: 1}
    layers:
      - Conv2D: {name: conv1, filters: $filters, kernel_size: 3, strides: $strides, padding: same, use_bias: false}
      - BatchNormalization: {name: bn1}
      - Activation: relu
      - Conv2D: {name: conv2, filters: $filters, kernel_size: 3, padding: same, use_bias: false}
      - BatchNormalization: {name: bn2}
      - Conv2D: {name: proj, inputs: input, filters: $filters, kernel_size: 1, strides: $strides, use_bias: false}
      - Add: {inputs: [bn2, proj]}
      - Activation: relu
layers:
  - Input: {shape: [32, 32, 3]}
  - residual: {name: stage1, filters: 16, repeat: 3}
  - residual: {name: stage2, filters: 32, strides: 2}
  - GlobalAveragePooling2D
  - Dense: {units: 10, activation: softmax}
)";

inline std::string vgg16(const std::string& tail) {
  return R"(
blocks:
  vgg:
    params: {filters: required, convs: 2}
    layers:
      - Conv2D: {name: conv, filters: $filters, kernel_size: 3, padding: same, activation: relu, repeat: $convs}
      - MaxPooling2D: {name: pool, pool_size: 2, strides: 2}
layers:
  - Input: {shape: [224, 224, 3]}
  - vgg: {name: block1, filters: 64}
  - vgg: {name: block2, filters: 128}
  - vgg: {name: block3, filters: 256, convs: 3}
  - vgg: {name: block4, filters: 512, convs: 3}
  - vgg: {name: block5, filters: 512, convs: 3}
  - Flatten
  - Dense: {name: predictions, units: 4, activation: softmax}
)" + tail;
}

}  // namespace dptrain::graph
