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

Model make_model(Graph graph, std::uint64_t seed) {
  Model model;
  model.seed = seed;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Layer& layer = graph.layers[i];
    layer.weights.clear();
    for (layers::WeightDef& def : layers::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs)) {
      const auto index = static_cast<std::uint32_t>(model.weights.size());
      layer.weights.push_back(static_cast<int>(index));
      std::vector<float> values = initialize(def, seed, index);
      const bool trainable = layer.trainable && def.trainable;
      model.weights.push_back({static_cast<int>(i), std::move(def), trainable, std::move(values)});
    }
  }
  model.graph = std::move(graph);
  return model;
}

std::int64_t Model::parameters() const { return elements(*this, false); }

std::int64_t Model::trainable_parameters() const { return elements(*this, true); }

}  // namespace dptrain::graph
