#include <nlohmann/json.hpp>

#include "export/keras/keras_config.h"
#include "export/keras/keras_metric.h"
#include "export/keras/keras_optimizer.h"
#include "export/keras/keras_values.h"
#include "nn/loss.h"
#include "nn/optimizer.h"

namespace dptrain::exporting::keras {
namespace {

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

/// Null where one of the worlds would fail to load the model. Keras 2 reads optimizers of a file as its "legacy" ones,
/// which know neither weight decay nor averages (and the key that would tell it otherwise is refused by Keras 3).
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

}  // namespace dptrain::exporting::keras
