#include "experiment/objectives.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "data/sources/dataset.h"
#include "nn/counting_metrics.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/losses.h"
#include "nn/metrics.h"
#include "nn/normalization.h"
#include "plan/stages.h"

namespace dptrain::experiment {
namespace {

/// Checks that each entry names an output of the model with a loss.
template <class T>
void check_names(config::Reader& reader, const char* key, const OutputMap<T>& argument, const Losses& losses,
                 const std::vector<std::string>& outputs) {
  for (const auto& entry : argument.entries) {
    if (entry.output.empty()) continue;
    if (std::ranges::find(outputs, entry.output) == outputs.end())
      reader.error(entry.mark, fmt::format("train.{}: the model has no output '{}'; it has {}{}", key, entry.output,
                                           join(outputs, ", "), did_you_mean(entry.output, outputs)));
    else if (losses.find(entry.output) == nullptr)
      reader.error(entry.mark, fmt::format("train.{}: output '{}' has no loss; give it one in train.loss (with the "
                                           "weight 0 in train.loss_weights to measure it only)",
                                           key, entry.output));
  }
}

/// Warns of a softmax with a loss that treats each output separately: it trains, but rarely as intended.
void warn_of_losses(config::Diagnostics& diagnostics, const TrainSection& train, const graph::Graph& graph) {
  for (const plan::Objective& objective : objectives(train, graph)) {
    const graph::Port& port = graph.outputs[static_cast<std::size_t>(objective.output)];
    const graph::Node& node = graph.nodes[static_cast<std::size_t>(port.node)];
    const config::Typed& layer = graph::layer_of(graph, node).spec;
    const bool is_softmax = nn::activation_of(layer) == nn::Activation::kSoftmax ||
                            plan::pure_activation(layer) == nn::Activation::kSoftmax;
    const bool is_elementwise = objective.loss.get_if<nn::BinaryCrossentropySpec>() != nullptr ||
                                objective.loss.get_if<nn::losses::MeanSquaredError>() != nullptr ||
                                objective.loss.get_if<nn::losses::MeanAbsoluteError>() != nullptr;
    if (port.port == 0 && is_softmax && is_elementwise)
      diagnostics.warn(objective.loss.mark(),
                       fmt::format("output '{}' is a softmax, whose values sum to 1, and {} compares each value on its "
                                   "own; for one class per sample write categorical_crossentropy",
                                   graph::name_of(graph, port), objective.loss.name()));
  }
}

/// Warns of metrics that Keras also computes but that rarely mean what was intended.
void warn_of_metrics(config::Diagnostics& diagnostics, const TrainSection& train, const graph::Graph& graph) {
  for (const plan::Objective& objective : objectives(train, graph)) {
    if (nn::loss_type(objective.loss).reads != nn::Reads::kProbabilities) continue;
    const Shape& shape = graph::tensor_of(graph, graph.outputs[static_cast<std::size_t>(objective.output)]).shape;
    const std::int64_t width = shape.rank() > 0 ? shape.back() : 1;
    for (const config::Typed& metric : objective.metrics) {
      const auto* const f1 = metric.get_if<nn::F1ScoreSpec>();
      if (f1 != nullptr && !f1->threshold && width == 1)
        diagnostics.warn(metric.mark(),
                         "F1Score without a threshold counts every sample of a single output as positive; write "
                         "{F1Score: {threshold: 0.5}}");
      if (metric.get_if<nn::AccuracySpec>() != nullptr && width > 1)
        diagnostics.warn(metric.mark(),
                         "accuracy compares the largest of several outputs with the label; for independent labels "
                         "write binary_accuracy");
    }
  }
}

/// Whether a mapping in this tree has the key.
bool has_key(const config::Node& node, const char* key) {
  const auto inside = [&](const config::Node& part) { return has_key(part, key); };
  const config::Node* const found = node.find(key);
  return (found != nullptr && !found->is_null()) || std::ranges::any_of(node.items(), inside) ||
         std::ranges::any_of(node.entries(), [&](const config::Node::Entry& entry) { return inside(entry.value); });
}

}  // namespace

std::vector<std::string> output_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Port& output : graph.outputs) names.push_back(graph::name_of(graph, output));
  return names;
}

std::vector<plan::Objective> objectives(const TrainSection& train, const graph::Graph& graph) {
  std::vector<plan::Objective> all;
  const std::vector<std::string> names = output_names(graph);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const nn::Loss* loss = train.loss.find(names[i]);
    if (loss == nullptr || !*loss) continue;
    plan::Objective one{.output = static_cast<int>(i), .loss = *loss};
    if (const double* weight = train.loss_weights.find(names[i])) one.weight = *weight;
    if (const auto* metrics = train.metrics.find(names[i])) one.metrics.assign(metrics->begin(), metrics->end());
    if (train.ignore_class && nn::compares_classes(one.loss)) {
      one.ignore_class = train.ignore_class;
      one.loss = nn::with_ignore_class(one.loss, *train.ignore_class);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<LoggedValue> logged_values(const TrainSection& train, const graph::Graph& graph, bool validates) {
  std::vector<LoggedValue> values{{"loss", nn::Direction::kSmaller}}, metrics;
  for (const plan::Objective& objective : objectives(train, graph)) {
    const graph::Port& output = graph.outputs[static_cast<std::size_t>(objective.output)];
    const std::string prefix = graph.outputs.size() > 1 ? graph::name_of(graph, output) + "_" : "";
    if (!prefix.empty()) values.push_back({prefix + "loss", nn::Direction::kSmaller});
    for (const config::Typed& metric : objective.metrics)
      for (const std::string& name : nn::value_names(metric, {.output = graph::tensor_of(graph, output).shape}))
        metrics.push_back({prefix + name, nn::metric_type(metric).better});
  }
  values.insert(values.end(), metrics.begin(), metrics.end());
  const std::size_t trained = values.size();
  for (std::size_t i = 0; validates && i < trained; ++i) values.push_back({"val_" + values[i].name, values[i].better});
  return values;
}

nn::Direction direction_of(const std::vector<LoggedValue>& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &LoggedValue::name);
  return found == values.end() ? nn::Direction::kUnknown : found->better;
}

void check_objectives(config::Reader& reader, const TrainSection& train, const graph::Graph& graph) {
  const std::vector<std::string> outputs = output_names(graph);
  check_names(reader, "loss", train.loss, train.loss, outputs);
  check_names(reader, "loss_weights", train.loss_weights, train.loss, outputs);
  check_names(reader, "metrics", train.metrics, train.loss, outputs);
  warn_of_losses(reader.diagnostics(), train, graph);
  warn_of_metrics(reader.diagnostics(), train, graph);
  if (train.class_weight && outputs.size() > 1)
    reader.error(
        train.class_weight->mark,
        "train.class_weight: the model has several outputs; give samples weights with sample_weight in the data "
        "set, and outputs with train.loss_weights");
}

void resolve_ignored_class(config::Reader& reader, ConfigFile& file) {
  const DataSection& data = file.data;
  std::optional<std::int64_t>& ignored = file.train.ignore_class;
  std::string first;  // the role whose number applies
  for (const auto& [role, set] : {std::pair{"data.train", &data.train}, std::pair{"data.validation", &data.validation},
                                  std::pair{"data.test", &data.test}}) {
    if (!*set) continue;
    const config::Node written = set->write(true);
    for (const config::Node::Entry& part : written.entries())
      for (const config::Node::Entry& argument : part.value.entries())
        if (has_key(argument.value, "ignore_class"))
          reader.error(set->mark(),
                       fmt::format("{}: ignore_class of a part has no effect; set it in {} itself", role, set->name()));
    const std::optional<std::int64_t> own = data::def_of(*set).common(set->spec()).ignore_class;
    if (first.empty())
      first = role, ignored = own;
    else if (own && own != ignored)
      reader.error(set->mark(), fmt::format("{}: ignore_class is {}, but {} has {}; give both the same number", role,
                                            *own, first, ignored ? std::to_string(*ignored) : "none"));
  }
  if (!ignored || !file.train.loss) return;
  for (const auto& entry : file.train.loss.entries)
    if (const auto own = entry.value ? nn::ignore_class(entry.value) : std::nullopt; own && own != ignored)
      reader.error(entry.value.mark(), fmt::format("{}: ignore_class is {}, but {} has {}; remove it from the loss",
                                                   entry.value.name(), *own, first, *ignored));
  const auto fits = [](const auto& entry) { return entry.value && nn::compares_classes(entry.value); };
  const config::Typed& loss = file.train.loss.entries.front().value;
  if (std::ranges::none_of(file.train.loss.entries, fits) && loss)
    reader.error(loss.mark(), fmt::format("{}: {} has ignore_class {}, but this loss does not compare classes; remove "
                                          "ignore_class, or try a crossentropy or Dice",
                                          loss.name(), first, *ignored));
}

void warn_of_step_moments(config::Diagnostics& diagnostics, const TrainSection& train, const graph::Graph& graph) {
  if (!train.loss) return;
  for (const graph::Layer& layer : graph.layers) {
    const auto [inner, times] = nn::applied(layer.spec);
    const auto* norm = inner.get_if<nn::BatchNormalizationSpec>();
    if (!layer.trainable || times == 0 || norm == nullptr || norm->inference_mode) continue;
    diagnostics.warn(layer.mark,
                     fmt::format("TimeDistributed '{}': its BatchNormalization normalizes over the batch and all steps "
                                 "in training and updates the moving values once, as in Keras 2; Keras 3 does both for "
                                 "each step",
                                 layer.name));
  }
}

void check_value_names(config::Reader& reader, const config::Mark& place, const TrainSection& train,
                       const graph::Graph& graph) {
  for (const LoggedValue& value : logged_values(train, graph, false))
    if (value.name.starts_with("val_")) {
      reader.error(place, fmt::format("train: the training value '{}' would have the name of a validation value; "
                                      "rename the output or metric so that it does not begin with 'val'",
                                      value.name));
      return;
    }
}

}  // namespace dptrain::experiment
