// model_config and training_config in the Keras 2 dialect, in the form that Keras 2 and Keras 3 both load: every rule
// here stands in docs/keras-files.md with the version that fails without it.

#include <cctype>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"

namespace dptrain::checkpoint {
namespace {

std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// A name that TensorFlow takes as a name scope: [A-Za-z0-9.][A-Za-z0-9_.-]*.
std::string scope_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  if (name.empty() || name.front() == '_' || name.front() == '-') name.insert(0, "model");
  return name;
}

bool is_input(const graph::Layer& layer) { return layer.spec.name() == "Input"; }

nlohmann::ordered_json layer_config(const graph::Layer& layer) {
  const layers::LayerType& type = layers::type_of(layer.spec);
  const nlohmann::ordered_json own =
      nlohmann::ordered_json::parse(config::to_json(type.keras_config(layer.spec.spec(), layer.inputs)));
  if (is_input(layer)) {  // Keras 2 takes these keys and no others
    nlohmann::ordered_json config{{"batch_input_shape", own.at("batch_input_shape")}};
    config.update({{"dtype", own.at("dtype")}, {"sparse", false}, {"ragged", false}, {"name", layer.name}});
    return config;
  }
  nlohmann::ordered_json config{{"name", layer.name}};
  if (type.keras_trainable) config["trainable"] = layer.trainable;
  config["dtype"] = "float32";
  config.update(own);
  return config;
}

/// A tensor: [layer, call, which of its outputs].
nlohmann::ordered_json tensor(const graph::Graph& graph, const graph::Port& port) {
  const graph::Node& producer = graph.nodes[static_cast<std::size_t>(port.node)];
  return nlohmann::ordered_json::array(
      {graph.layers[static_cast<std::size_t>(producer.layer)].name, producer.call, port.port});
}

nlohmann::ordered_json tensors(const graph::Graph& graph, const std::vector<graph::Port>& ports) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const graph::Port& port : ports) list.push_back(tensor(graph, port));
  return list;
}

/// A tensor as Keras 3 has it.
nlohmann::ordered_json keras3_tensor(const graph::Graph& graph, const graph::Port& port) {
  nlohmann::ordered_json shape{nullptr};
  for (const std::int64_t extent : graph::tensor_of(graph, port).shape.dims()) shape.push_back(extent);
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", shape}, {"dtype", "float32"}, {"keras_history", tensor(graph, port)}}}};
}

/// A call in the form of Keras 3 alone: it has no other for inputs that are given by keyword.
nlohmann::ordered_json keras3_call(const graph::Graph& graph, const graph::Node& node, const std::string& keyword) {
  nlohmann::ordered_json more = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < node.inputs.size(); ++i) more.push_back(keras3_tensor(graph, node.inputs[i]));
  return {{"args", {keras3_tensor(graph, node.inputs.front())}}, {"kwargs", {{keyword, more}}}};
}

/// The calls of a layer, in order; each a list of [layer, call, output, {}].
nlohmann::ordered_json inbound_nodes(const graph::Graph& graph, int layer) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  const layers::LayerType& type = layers::type_of(graph.layers[static_cast<std::size_t>(layer)].spec);
  for (const graph::Node& node : graph.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    if (node.inputs.size() > 1 && !type.keras_keyword.empty()) {
      calls.push_back(keras3_call(graph, node, type.keras_keyword));
      continue;
    }
    nlohmann::ordered_json call = tensors(graph, node.inputs);
    for (nlohmann::ordered_json& input : call) input.push_back(nlohmann::ordered_json::object());
    calls.push_back(std::move(call));
  }
  return calls;
}

nlohmann::ordered_json object(const std::string& name, nlohmann::ordered_json config) {
  return {{"class_name", name}, {"config", std::move(config)}};
}

nlohmann::ordered_json loss_config(const config::Typed& loss) {
  return nlohmann::ordered_json::parse(config::to_json(optim::keras_config(loss)));
}

/// Null for a metric that Keras 2 has not.
nlohmann::ordered_json metric_config(const config::Typed& metric) {
  nlohmann::ordered_json config =
      nlohmann::ordered_json::parse(config::to_json(optim::metric_type(metric).keras_config(metric.spec())));
  if (!config.is_object()) return config;
  config["dtype"] = "float32";
  return object(metric.name(), std::move(config));
}

/// Null where one of the worlds would fail to load the model. Keras 2 reads optimizers of a file as its "legacy" ones,
/// which know neither weight decay nor averages (and the key that would tell it otherwise is refused by Keras 3).
nlohmann::ordered_json optimizer_config(const config::Typed& optimizer, double learning_rate) {
  const optim::OptimizerCommon& common = optim::common(optimizer);
  if (!optim::optimizer_type(optimizer).in_keras2 || common.weight_decay.value_or(0) != 0 || common.use_ema) return {};
  // Always a float (Keras 3 refuses integers), and the current value: Keras 3 cannot load a schedule in this form.
  nlohmann::ordered_json config{{"name", optimizer.name()}, {"learning_rate", learning_rate}};
  config.update(nlohmann::ordered_json::parse(config::to_json(optim::keras_arguments(optimizer))));
  if (common.clipnorm) config["clipnorm"] = *common.clipnorm;
  if (common.clipvalue) config["clipvalue"] = *common.clipvalue;
  if (common.global_clipnorm) config["global_clipnorm"] = *common.global_clipnorm;
  return object(optimizer.name(), config);
}

}  // namespace

std::string keras_model_config(const graph::Graph& graph) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const int index : graph::keras_order(graph)) {
    const graph::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
    layers.push_back({{"class_name", is_input(layer) ? "InputLayer" : layer.spec.name()},
                      {"name", layer.name},
                      {"config", layer_config(layer)},
                      {"inbound_nodes", inbound_nodes(graph, index)}});
  }
  const nlohmann::ordered_json model{{"name", scope_name(graph.name)},
                                     {"trainable", true},
                                     {"layers", layers},
                                     {"input_layers", tensors(graph, {graph.inputs.begin(), graph.inputs.end()})},
                                     {"output_layers", tensors(graph, graph.outputs)}};
  return one_line(object("Functional", model));
}

std::string keras_training_config(const Compiled& compiled) {
  if (!compiled.optimizer || compiled.outputs.empty()) return "";
  const nlohmann::ordered_json optimizer = optimizer_config(compiled.optimizer, compiled.learning_rate);
  if (optimizer.is_null()) return "";
  nlohmann::ordered_json losses, metrics, weights;
  for (const Compiled::Output& output : compiled.outputs) {
    losses[output.name] = loss_config(output.loss);
    if (losses[output.name].is_null()) return "";
    weights[output.name] = output.weight;
    metrics[output.name] = nlohmann::ordered_json::array();
    for (const config::Typed& metric : output.metrics)
      if (nlohmann::ordered_json one = metric_config(metric); !one.is_null())
        metrics[output.name].push_back(std::move(one));
  }
  const bool one = compiled.outputs.front().name.empty();
  return one_line(nlohmann::ordered_json{{"loss", one ? losses.front() : losses},
                                         {"metrics", one ? metrics.front() : metrics},
                                         {"weighted_metrics", nullptr},
                                         {"loss_weights", one ? nlohmann::ordered_json() : weights},
                                         {"optimizer_config", optimizer}});
}

}  // namespace dptrain::checkpoint
