#include "formats/keras3/keras3_config.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "formats/keras/keras_config.h"
#include "formats/keras/keras_graph.h"
#include "graph/definitions.h"
#include "nn/optimizer.h"
#include "nn/optimizers.h"

namespace dptrain::formats::keras {
namespace {

using Json = nlohmann::ordered_json;

/// Keras finds a class that it lacks by its registered name.
Json layer_entry(const graph::Graph& graph, int index) {
  const graph::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
  const std::string name = class_name(layer.spec);
  const bool custom = !layer_form(layer.spec).custom_objects.empty();
  Json calls = Json::array();
  for (const graph::Node& node : graph.nodes)
    if (node.layer == index && !node.inputs.empty()) calls.push_back(keras3_call(graph, node));
  Json entry{{"module", custom ? Json() : Json("keras.layers")},
             {"class_name", name.substr(name.find('>') + 1)},
             {"config", layer_config(layer, Dialect::kKeras3)},
             {"registered_name", custom ? Json(name) : Json()},
             {"name", layer.name},
             {"inbound_nodes", calls}};
  add_masks(graph, index, entry);
  return entry;
}

}  // namespace

std::string keras3_config(const graph::Graph& graph, const CompileConfig& compiled) {
  Json layers = Json::array();
  for (const int index : graph::keras_order(graph)) layers.push_back(layer_entry(graph, index));
  const Json model{{"name", scope_name(graph.name)},
                   {"trainable", true},
                   {"layers", layers},
                   {"input_layers", tensors(graph, {graph.inputs.begin(), graph.inputs.end()})},
                   {"output_layers", tensors(graph, graph.outputs)}};
  Json all{{"module", "keras.src.models.functional"},
           {"class_name", "Functional"},
           {"config", model},
           {"registered_name", "Functional"},
           {"build_config", {{"input_shape", nullptr}}}};
  if (const Json compile = compile_config(compiled); !compile.is_null()) all["compile_config"] = compile;
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string keras3_metadata() {
  const Json metadata{{"keras_version", "3.0.0"}, {"written_by", "dptrain"}};
  return metadata.dump();
}

namespace {

/// Whether Keras creates this slot for all weights after the earlier slots, not interleaved with them.
bool has_own_group(const config::Typed& optimizer, const std::string& slot) {
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
    if (!open || has_own_group(optimizer, slot.name)) groups.emplace_back();
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

namespace {

/// {"class_name", "config"} with the keys that Keras 3 adds.
Json object_of(const char* module, Json entry) {
  return {{"module", module},
          {"class_name", entry.at("class_name")},
          {"config", entry.at("config")},
          {"registered_name", nullptr}};
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// The learning rate is the current one, always a float: Keras refuses an integer.
Json optimizer_entry(const config::Typed& optimizer, double learning_rate) {
  const nn::OptimizerCommon& common = nn::common(optimizer);
  Json config{
      {"name", graph::snake_case(optimizer.name())},
      {"learning_rate", learning_rate},
      {"weight_decay", optional_number(common.weight_decay)},
      {"clipnorm", optional_number(common.clipnorm)},
      {"global_clipnorm", optional_number(common.global_clipnorm)},
      {"clipvalue", optional_number(common.clipvalue)},
      {"use_ema", common.use_ema},
      {"ema_momentum", common.ema_momentum},
      {"ema_overwrite_frequency", common.ema_overwrite_frequency ? Json(*common.ema_overwrite_frequency) : Json()}};
  config.update(json_of(optimizer_arguments(optimizer)));
  return object_of("keras.optimizers", {{"class_name", optimizer.name()}, {"config", config}});
}

}  // namespace

Json compile_config(const CompileConfig& compiled) {
  if (!compiled.optimizer || compiled.outputs.empty()) return {};
  const Json outputs = compiled_outputs(compiled, object_of);
  Json weights = outputs["weights"];
  if (const double weight = compiled.outputs.front().weight; weights.is_null() && weight != 1)
    weights = Json::array({weight});
  return {{"optimizer", optimizer_entry(compiled.optimizer, compiled.learning_rate)},
          {"loss", outputs["loss"]},
          {"loss_weights", weights},
          {"metrics", outputs["metrics"]},
          {"weighted_metrics", nullptr},
          {"run_eagerly", false},
          {"steps_per_execution", 1},
          {"jit_compile", false}};
}

}  // namespace dptrain::formats::keras
