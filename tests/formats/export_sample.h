#pragma once

// Models shared by the tests of this folder.

#include <string>
#include <utility>
#include <vector>

#include "formats/compile_config.h"
#include "graph/model.h"
#include "nn/convolutions.h"
#include "nn/loss.h"
#include "nn/losses.h"
#include "nn/merging.h"
#include "nn/metrics.h"
#include "nn/normalization.h"
#include "nn/optimizers.h"
#include "nn/pooling.h"
#include "nn/reshaping.h"
#include "support/output_shape.h"

namespace dptrain::formats::sample {

/// Arbitrary distinct numbers, the same on every machine.
inline std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8U) / 8388608.0F - 1.0F;  // [-1, 1)
  }
  return values;
}

/// Builds a model layer by layer, without the config language.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name) { model_.graph.name = std::move(name); }

  /// Adds a layer and its first call; returns the node.
  template <class Spec>
  int add(const std::string& name, Spec spec, const std::vector<int>& inputs = {}) {
    graph::Layer layer{
        .name = name, .spec = nn::layer_family().make(std::move(spec)), .inputs = {}, .weights = {}, .mark = {}};
    for (const int input : inputs) layer.inputs.push_back(model_.graph.nodes[static_cast<std::size_t>(input)].output());
    const int index = static_cast<int>(model_.graph.layers.size());
    for (nn::WeightDef& def : nn::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs)) {
      layer.weights.push_back(static_cast<int>(model_.weights.size()));
      std::vector<float> values =
          numbers(static_cast<std::size_t>(def.shape.elements()), static_cast<std::uint32_t>(model_.weights.size()));
      for (float& value : values) value = def.name == "moving_variance" ? 1.5F + value : value;
      model_.weights.push_back({.layer = index, .def = std::move(def), .trainable = true, .values = std::move(values)});
    }
    model_.graph.layers.push_back(std::move(layer));
    return call(index, inputs);
  }

  /// Adds another call of the layer of a node.
  int again(int node, const std::vector<int>& inputs) {
    return call(model_.graph.nodes[static_cast<std::size_t>(node)].layer, inputs);
  }

  graph::Model take(std::vector<int> outputs) {
    model_.graph.outputs.assign(outputs.begin(), outputs.end());
    return std::move(model_);
  }

 private:
  int call(int index, const std::vector<int>& inputs) {
    graph::Graph& graph = model_.graph;
    const graph::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
    graph::Node node{.layer = index,
                     .call = 0,
                     .inputs = {inputs.begin(), inputs.end()},
                     .outputs = {},
                     .name = layer.name,
                     .device = "",
                     .mark = {},
                     .blocks = {}};
    for (const graph::Node& other : graph.nodes) node.call += other.layer == index ? 1 : 0;
    node.outputs = test::outputs_of(layer.spec, layer.inputs);
    const int at = static_cast<int>(graph.nodes.size());
    if (inputs.empty()) graph.inputs.push_back(at);
    graph.nodes.push_back(std::move(node));
    return at;
  }

  graph::Model model_;
};

inline nn::Conv2DSpec conv3x3(std::int64_t filters, nn::Activation activation, bool use_bias) {
  nn::Conv2DSpec spec;
  spec.filters = filters;
  spec.kernel_size = {3, 3};
  spec.padding = nn::Padding::kSame;
  spec.activation = activation;
  spec.use_bias = use_bias;
  return spec;
}

inline nn::DenseSpec dense(std::int64_t units, nn::Activation activation = nn::Activation::kLinear) {
  nn::DenseSpec spec;
  spec.units = units;
  spec.activation = activation;
  return spec;
}

/// The worked example of tests/golden/minimal_functional.json.
inline graph::Model tiny_cnn(std::int64_t units = 5) {
  using nn::Activation;
  ModelBuilder b("tiny_cnn");
  const int input = b.add("input_1", nn::InputSpec{{8, 8, 3}});
  const int conv1 = b.add("conv1", conv3x3(4, Activation::kRelu, true), {input});
  const int pool = b.add("pool1", nn::MaxPooling2DSpec{}, {conv1});
  const int flat = b.add("flatten", nn::FlattenSpec{}, {pool});
  return b.take({b.add("predictions", dense(units, Activation::kSoftmax), {flat})});
}

/// A minimal model.
inline graph::Model small_dense() {
  ModelBuilder b("small");
  const int input = b.add("in", nn::InputSpec{{3}});
  return b.take({b.add("out", dense(2), {input})});
}

/// Branches of unequal length, a frozen layer, statistics, a layer that Keras does not have.
inline graph::Model branched() {
  ModelBuilder b("branched");
  const int input = b.add("image", nn::InputSpec{{7, 5, 3}});
  const nn::Conv2DSpec conv = conv3x3(6, nn::Activation::kLinear, false);
  const int a1 = b.add("left1", conv, {input});
  const int a2 = b.add("left1_bn", nn::BatchNormalizationSpec{}, {a1});
  const int a3 = b.add("left_lrn", nn::LocalResponseNormalizationSpec{.depth_radius = 2}, {a2});
  const int b1 = b.add("right1", conv, {input});
  const int both = b.add("both", nn::ConcatenateSpec{}, {a3, b1});
  const int flat = b.add("flat", nn::FlattenSpec{}, {both});
  graph::Model model = b.take({b.add("out", dense(3, nn::Activation::kSoftmax), {flat})});
  model.graph.layers[1].trainable = false;
  return model;
}

inline CompileConfig compiled() {
  CompileConfig c;
  c.optimizer = nn::optimizer_family().make(nn::AdamSpec{});
  c.learning_rate = 0.002;
  c.outputs.push_back({.loss = nn::loss_family().make(nn::CategoricalCrossentropySpec{}),
                       .metrics = {nn::metric_family().make(nn::AccuracySpec{})}});
  return c;
}

}  // namespace dptrain::formats::sample
