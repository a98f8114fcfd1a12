#include "export/keras3/keras3_optimizer.h"

#include <cmath>

#include "nn/optimizers.h"

namespace dptrain::exporting::keras {
namespace {

/// Whether Keras makes these slots behind all those before them, not by turns with them.
bool stands_apart(const config::Typed& optimizer, const std::string& slot) {
  return slot == "velocity_hat" || optimizer.type() == typeid(nn::RMSpropSpec);
}

}  // namespace

std::vector<int> trained_weights(const graph::Model& model) {
  std::vector<int> trained;
  for (const int layer : graph::keras_order(model.graph))
    for (const int weight : model.graph.layers[static_cast<std::size_t>(layer)].weights)
      if (model.weights[static_cast<std::size_t>(weight)].trainable) trained.push_back(weight);
  return trained;
}

std::vector<std::vector<std::string>> slot_groups(const config::Typed& optimizer) {
  std::vector<std::vector<std::string>> groups;
  if (nn::common(optimizer).use_ema) groups.push_back({"average"});
  bool open = false;
  for (const nn::SlotDef& slot : nn::slots(optimizer)) {
    if (!open || stands_apart(optimizer, slot.name)) groups.emplace_back();
    groups.back().push_back(slot.name);
    open = true;
  }
  return groups;
}

std::vector<std::string> slot_names(const config::Typed& optimizer, const graph::Model& model) {
  std::vector<std::string> names;
  const std::vector<int> trained = trained_weights(model);
  for (const std::vector<std::string>& group : slot_groups(optimizer))
    for (const int weight : trained)
      for (const std::string& slot : group)
        names.push_back(slot + "/" + model.weights[static_cast<std::size_t>(weight)].path(model.graph));
  return names;
}

std::optional<double> momentum_product(const config::Typed& optimizer, std::int64_t iterations) {
  const auto* nadam = optimizer.get_if<nn::NadamSpec>();
  if (nadam == nullptr) return std::nullopt;
  double product = 1;
  for (std::int64_t t = 1; t <= iterations && product > 0; ++t)
    product *= nadam->beta_1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(t)));
  return product;
}

}  // namespace dptrain::exporting::keras
