#include "graph/model.h"

namespace dptrain::graph {
namespace {

std::int64_t elements(const Model& model, bool only_trainable) {
  std::int64_t sum = 0;
  for (const Weight& weight : model.weights)
    if (weight.trainable || !only_trainable) sum += weight.def.shape.elements();
  return sum;
}

}  // namespace

Model undrawn_model(Graph graph, std::uint64_t seed) {
  Model model;
  model.seed = seed;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Layer& layer = graph.layers[i];
    layer.weights.clear();
    for (nn::WeightDef& def : nn::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs)) {
      layer.weights.push_back(static_cast<int>(model.weights.size()));
      const bool trainable = layer.trainable && def.trainable;
      model.weights.push_back({static_cast<int>(i), std::move(def), trainable, {}});
    }
  }
  model.graph = std::move(graph);
  return model;
}

void draw(Model& model) {
  for (std::size_t i = 0; i < model.weights.size(); ++i)
    if (Weight& weight = model.weights[i]; weight.values.empty())
      weight.values = initialize(weight.def, model.seed, static_cast<std::uint32_t>(i));
}

Model make_model(Graph graph, std::uint64_t seed) {
  Model model = undrawn_model(std::move(graph), seed);
  draw(model);
  return model;
}

std::int64_t Model::parameters() const { return elements(*this, false); }

std::int64_t Model::trainable_parameters() const { return elements(*this, true); }

}  // namespace dptrain::graph
