#include <nlohmann/json.hpp>

#include "export/keras/keras_config.h"
#include "export/keras/keras_metric.h"
#include "export/keras/keras_optimizer.h"
#include "export/keras3/keras3_config.h"
#include "graph/definitions.h"
#include "nn/optimizer.h"

namespace dptrain::exporting::keras {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const config::Node& node) { return Json::parse(config::to_json(node)); }

Json object_of(const char* module, const std::string& name, Json config) {
  return {{"module", module}, {"class_name", name}, {"config", std::move(config)}, {"registered_name", nullptr}};
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// The learning rate is a number, the current one: Keras refuses an integer.
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
  config.update(parsed(optimizer_arguments(optimizer)));
  return object_of("keras.optimizers", optimizer.name(), std::move(config));
}

Json loss_entry(const config::Typed& loss) {
  Json json = parsed(loss_config(loss));
  if (!json.is_object()) return json;
  return object_of("keras.losses", json.at("class_name").get<std::string>(), json.at("config"));
}

Json metric_entry(const config::Typed& metric) {
  Json config = parsed(metric_config(metric));
  if (!config.is_object()) return config;
  config["dtype"] = "float32";
  return object_of("keras.metrics", metric.name(), std::move(config));
}

}  // namespace

Json compile_config(const Compiled& compiled) {
  if (!compiled.optimizer || compiled.outputs.empty()) return {};
  Json losses, metrics, weights;
  for (const Compiled::Output& output : compiled.outputs) {
    losses[output.name] = loss_entry(output.loss);
    weights[output.name] = output.weight;
    metrics[output.name] = Json::array();
    for (const config::Typed& one : output.metrics) metrics[output.name].push_back(metric_entry(one));
  }
  const bool one = compiled.outputs.front().name.empty();
  const double weight = compiled.outputs.front().weight;
  return {{"optimizer", optimizer_entry(compiled.optimizer, compiled.learning_rate)},
          {"loss", one ? losses.front() : losses},
          {"loss_weights", !one          ? weights
                           : weight == 1 ? Json()
                                         : Json::array({weight})},
          {"metrics", one ? metrics.front() : metrics},
          {"weighted_metrics", nullptr},
          {"run_eagerly", false},
          {"steps_per_execution", 1},
          {"jit_compile", false}};
}

}  // namespace dptrain::exporting::keras
