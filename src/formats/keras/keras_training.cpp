#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "config/registry.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_values.h"
#include "nn/counting_metrics.h"
#include "nn/loss.h"
#include "nn/metrics.h"
#include "nn/optimizer.h"
#include "nn/optimizers.h"

namespace dptrain::formats::keras {
namespace {

// Metrics

/// By default a metric is its class with the keys of the schema; an expression here states each difference.
struct MetricForm {
  std::string word{};  ///< Keras's string in place of the class; "": none
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
  for (const config::Node::Entry& entry : written.entries())  // in Keras a list of thresholds overrides their number
    if (entry.key != "thresholds" || !spec.thresholds.empty()) config.set(entry.key, entry.value);
  if (spec.label_weights.empty()) config.set("label_weights", config::Node());
  return config;
}

const RegisteredMetric<nn::AUCSpec> kAuc(auc);

/// For a model whose last axis holds the classes' scores.
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

// The text of a file

nlohmann::ordered_json json_of(const config::Node& node) {
  return nlohmann::ordered_json::parse(config::to_json(node));
}

nlohmann::ordered_json with_class(const std::string& name, nlohmann::ordered_json config) {
  return {{"class_name", name}, {"config", std::move(config)}};
}

nlohmann::ordered_json metric_json(const config::Typed& metric) {
  nlohmann::ordered_json config = json_of(metric_config(metric));
  if (!config.is_object()) return config;
  config["dtype"] = "float32";
  return with_class(metric.name(), std::move(config));
}

/// Null if Keras 2 or Keras 3 would fail to load the model. Keras 2 loads optimizers as "legacy" ones, without weight
/// decay and averages; Keras 3 refuses the key that would change this.
nlohmann::ordered_json optimizer_json(const config::Typed& optimizer, double learning_rate) {
  const nn::OptimizerCommon& common = nn::common(optimizer);
  if (!in_keras2(optimizer) || common.weight_decay.value_or(0) != 0 || common.use_ema) return {};
  // Always a float (Keras 3 refuses integers), and the current value: Keras 3 cannot load a schedule in this form.
  nlohmann::ordered_json config{{"name", optimizer.name()}, {"learning_rate", learning_rate}};
  config.update(json_of(optimizer_arguments(optimizer)));
  if (common.clipnorm) config["clipnorm"] = *common.clipnorm;
  if (common.clipvalue) config["clipvalue"] = *common.clipvalue;
  if (common.global_clipnorm) config["global_clipnorm"] = *common.global_clipnorm;
  return with_class(optimizer.name(), config);
}

}  // namespace

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

std::string training_config(const Compiled& compiled) {
  if (!compiled.optimizer || compiled.outputs.empty()) return "";
  const nlohmann::ordered_json optimizer = optimizer_json(compiled.optimizer, compiled.learning_rate);
  if (optimizer.is_null()) return "";
  nlohmann::ordered_json losses, metrics, weights;
  for (const Compiled::Output& output : compiled.outputs) {
    losses[output.name] = json_of(loss_config(output.loss));
    weights[output.name] = output.weight;
    metrics[output.name] = nlohmann::ordered_json::array();
    for (const config::Typed& metric : output.metrics) metrics[output.name].push_back(metric_json(metric));
  }
  const bool one = compiled.outputs.front().name.empty();
  const nlohmann::ordered_json all{{"loss", one ? losses.front() : losses},
                                   {"metrics", one ? metrics.front() : metrics},
                                   {"weighted_metrics", nullptr},
                                   {"loss_weights", one ? nlohmann::ordered_json() : weights},
                                   {"optimizer_config", optimizer}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dptrain::formats::keras
