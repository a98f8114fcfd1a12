#include "formats/keras/keras_config.h"

#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/registry.h"
#include "formats/keras/keras_graph.h"
#include "nn/counting_metrics.h"
#include "nn/loss.h"
#include "nn/metrics.h"
#include "nn/optimizer.h"
#include "nn/optimizers.h"

namespace dptrain::formats::keras {
namespace {

using Json = nlohmann::ordered_json;

// The model

/// The calls of a layer, in order; each a list of [layer, call, output, {}].
Json inbound_nodes(const graph::Graph& graph, int layer) {
  Json calls = Json::array();
  const config::Typed& spec = graph.layers[static_cast<std::size_t>(layer)].spec;
  const LayerForm& form = layer_form(spec);
  Json keywords = Json::object();
  add_call_arguments(spec, keywords);
  for (const graph::Node& node : graph.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    if (form.has_separate_inputs || (node.inputs.size() > 1 && !form.keyword.empty())) {
      calls.push_back(keras3_call(graph, node));
      continue;
    }
    Json call = tensors(graph, node.inputs);
    for (Json& input : call) input.push_back(keywords);
    calls.push_back(std::move(call));
  }
  return calls;
}

// Metrics

/// By default a metric is its class with the keys of the schema; each row below is a difference.
struct MetricForm {
  std::string word{};  ///< Keras's string instead of the class, or ""
  /// Converts all keys of the config to Keras's arguments.
  std::function<config::Node(const void* spec, config::Node written)> arguments{};
};

config::Registry<std::type_index, MetricForm>& metric_forms() {
  static config::Registry<std::type_index, MetricForm> forms;
  return forms;
}

template <class Spec>
struct RegisteredMetric {
  explicit RegisteredMetric(std::string word) { metric_forms().add(typeid(Spec), {.word = std::move(word)}); }
  explicit RegisteredMetric(config::Node (*f)(const Spec&, config::Node written)) {
    metric_forms().add(typeid(Spec), {.arguments = [f](const void* spec, config::Node written) {
                         return f(*static_cast<const Spec*>(spec), std::move(written));
                       }});
  }
};

/// Keras resolves the string by the output, as dptrain does.
const RegisteredMetric<nn::AccuracySpec> kAccuracy("accuracy");

config::Node auc(const nn::AUCSpec& spec, config::Node written) {
  config::Node config = config::Node::map();
  for (const config::Node::Entry& entry : written.entries())  // Keras: a list of thresholds overrides their number
    if (entry.key != "thresholds" || !spec.thresholds.empty()) config.set(entry.key, entry.value);
  if (spec.label_weights.empty()) config.set("label_weights", config::Node());
  return config;
}

const RegisteredMetric<nn::AUCSpec> kAuc(auc);

/// For a model whose output has the scores of the classes in its last axis.
config::Node mean_io_u(const nn::MeanIoUSpec&, config::Node written) {
  written.set("sparse_y_true", config::Node::boolean(true));
  written.set("sparse_y_pred", config::Node::boolean(false));
  written.set("axis", config::Node::integer(-1));
  return written;
}

const RegisteredMetric<nn::MeanIoUSpec> kMeanIoU(mean_io_u);

/// For Precision and Recall: Keras accepts no empty list.
template <class Spec>
config::Node counted_above(const Spec& spec, config::Node written) {
  if (spec.thresholds.empty()) written.set("thresholds", config::Node());
  return written;
}

const RegisteredMetric<nn::PrecisionSpec> kPrecision(counted_above<nn::PrecisionSpec>);
const RegisteredMetric<nn::RecallSpec> kRecall(counted_above<nn::RecallSpec>);

// Optimizers

/// Keras 2 does not load these from a file.
config::Registry<std::type_index, bool>& only_in_keras3() {
  static config::Registry<std::type_index, bool> optimizers;
  return optimizers;
}

template <class Spec>
struct NotInKeras2 {
  NotInKeras2() { only_in_keras3().add(typeid(Spec), true); }
};

const NotInKeras2<nn::AdamWSpec> kAdamW;
const NotInKeras2<nn::LambSpec> kLamb;
const NotInKeras2<nn::LionSpec> kLion;

/// Null if Keras 2 or Keras 3 would fail to load the model. Keras 2 loads optimizers as "legacy" ones, without weight
/// decay and averages; Keras 3 refuses the key that would change this.
Json optimizer_json(const config::Typed& optimizer, double learning_rate) {
  const nn::OptimizerCommon& common = nn::common(optimizer);
  if (!in_keras2(optimizer) || common.weight_decay.value_or(0) != 0 || common.use_ema) return {};
  // Always a float (Keras 3 refuses integers), and the current value: Keras 3 cannot load a schedule in this form.
  Json config{{"name", optimizer.name()}, {"learning_rate", learning_rate}};
  config.update(json_of(optimizer_arguments(optimizer)));
  if (common.clipnorm) config["clipnorm"] = *common.clipnorm;
  if (common.clipvalue) config["clipvalue"] = *common.clipvalue;
  if (common.global_clipnorm) config["global_clipnorm"] = *common.global_clipnorm;
  return {{"class_name", optimizer.name()}, {"config", config}};
}

}  // namespace

std::string model_config(const graph::Graph& graph) {
  Json layers = Json::array();
  for (const int index : graph::keras_order(graph)) {
    const graph::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
    layers.push_back({{"class_name", class_name(layer.spec)},
                      {"name", layer.name},
                      {"config", layer_config(layer, Dialect::kKeras2)},
                      {"inbound_nodes", inbound_nodes(graph, index)}});
    add_masks(graph, index, layers.back());
  }
  const Json model{{"name", scope_name(graph.name)},
                   {"trainable", true},
                   {"layers", layers},
                   {"input_layers", tensors(graph, {graph.inputs.begin(), graph.inputs.end()})},
                   {"output_layers", tensors(graph, graph.outputs)}};
  const Json all{{"class_name", "Functional"}, {"config", model}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

config::Node metric_config(const config::Typed& metric) {
  config::Node written = metric.def().schema.write(metric.spec());
  const MetricForm* form = metric_forms().find(metric.type());
  if (form == nullptr) return written;
  return form->word.empty() ? form->arguments(metric.spec(), std::move(written)) : config::Node::text(form->word);
}

bool in_keras2(const config::Typed& optimizer) { return !only_in_keras3().has(optimizer.type()); }

config::Node optimizer_arguments(const config::Typed& optimizer) {
  // Every optimizer has the keys of the base; all others are its own.
  static const config::Schema shared = nn::OptimizerBuilder<nn::OptimizerCommon>("").build()->schema;
  const config::Node common_keys = shared.write(shared.make().get());
  config::Node own = config::Node::map();
  for (const config::Field& field : optimizer.def().schema.fields())
    if (common_keys.find(field.name) == nullptr) own.set(field.name, value(field, optimizer.spec()));
  return own;
}

config::Node loss_config(const config::Typed& loss) {
  const nn::LossType& type = nn::loss_type(loss);
  if (type.schema.write(loss.spec(), true).entries().empty()) return text(type.keras_name);
  config::Node config = config::Node::map();
  config.set("reduction", text("sum_over_batch_size"));  // Keras 3 refuses the "auto" that Keras 2 would write
  config.set("name", text(type.keras_name));
  const config::Node keys = type.schema.write(loss.spec());
  for (const auto& entry : keys.entries()) config.set(entry.key, entry.value);
  return object({{"class_name", text(type.name)}, {"config", std::move(config)}});
}

Json compiled_outputs(const CompileConfig& compiled, Json (*object)(const char* module, Json entry)) {
  Json losses, metrics, weights;
  for (const CompileConfig::Output& output : compiled.outputs) {
    const Json loss = json_of(loss_config(output.loss));
    losses[output.name] = loss.is_object() ? object("keras.losses", loss) : loss;
    weights[output.name] = output.weight;
    Json& own = metrics[output.name] = Json::array();
    for (const config::Typed& metric : output.metrics) {
      Json config = json_of(metric_config(metric));
      if (config.is_object()) {
        config["dtype"] = "float32";
        config = object("keras.metrics", {{"class_name", metric.name()}, {"config", config}});
      }
      own.push_back(std::move(config));
    }
  }
  if (!compiled.outputs.front().name.empty()) return {{"loss", losses}, {"metrics", metrics}, {"weights", weights}};
  return {{"loss", losses.front()}, {"metrics", metrics.front()}, {"weights", nullptr}};
}

std::string training_config(const CompileConfig& compiled) {
  if (!compiled.optimizer || compiled.outputs.empty()) return "";
  const Json optimizer = optimizer_json(compiled.optimizer, compiled.learning_rate);
  if (optimizer.is_null()) return "";
  const Json outputs = compiled_outputs(compiled, [](const char*, Json entry) { return entry; });
  const Json all{{"loss", outputs["loss"]},
                 {"metrics", outputs["metrics"]},
                 {"weighted_metrics", nullptr},
                 {"loss_weights", outputs["weights"]},
                 {"optimizer_config", optimizer}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dptrain::formats::keras
