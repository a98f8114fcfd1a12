#include "experiment/checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <memory>

#include "config/expression.h"
#include "core/format.h"
#include "data/transform.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/normalization.h"

namespace dptrain::experiment {

void check_virtual_shards(config::Reader& reader, const config::Mark& place, const ConfigFile& file,
                          const graph::Graph* graph) {
  if (!file.parallel.virtual_shards) return;
  const std::int64_t shards = *file.parallel.virtual_shards;
  const auto refuse = [&](const std::string& why) { reader.error(place, "parallel: virtual_shards " + why); };
  if (!std::has_single_bit(static_cast<std::uint64_t>(shards)))
    refuse(fmt::format("must be a power of two such as {}, found {}", std::bit_ceil(static_cast<std::uint64_t>(shards)),
                       shards));
  if (file.train.accumulate_steps.value_or(1) > 1)
    refuse(
        "cannot be combined with accumulate_steps: shards are micro-batches already; remove accumulate_steps, and use "
        "more shards to save memory");
  const std::vector<double>& weights = file.parallel.split.weights;
  if (file.parallel.split.automatic ||
      std::ranges::any_of(weights, [&](double weight) { return weight != weights.front(); }))
    refuse("cannot be combined with split: every replica computes the same number of shards; remove split");
  if (file.parallel.sync_batchnorm)
    refuse("cannot be combined with sync_batchnorm: each shard is normalised on its own; remove sync_batchnorm");
  if (file.parallel.allreduce_dtype != AllreduceDtype::kFloat32)
    refuse("cannot be combined with allreduce_dtype: shards are summed in float32; remove allreduce_dtype");
  if (graph == nullptr) return;
  for (const graph::Layer& layer : graph->layers) {
    const config::Typed spec = nn::applied(layer.spec).first;
    const auto* norm = spec.get_if<nn::BatchNormalizationSpec>();
    if (norm != nullptr && norm->synchronized)
      refuse(
          fmt::format("cannot be combined with `synchronized` in layer {}: each shard is normalised on its own; remove "
                      "`synchronized`",
                      layer.name));
  }
}

const config::Typed* mixing_transform(const DataSection& data) {
  for (const config::Typed& spec : data.transforms.train)
    if (data::make_transform(spec)->mixing() != nullptr) return &spec;
  return nullptr;
}

void check_mixed_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                        const graph::Graph& graph) {
  const config::Typed* mixing = mixing_transform(data);
  if (mixing == nullptr) return;
  for (const plan::Objective& objective : objectives(train, graph))
    if (nn::loss_type(objective.loss).integer_labels_only)
      reader.error(mixing->mark(),
                   fmt::format("{} mixes labels, but {} accepts class numbers only; use categorical_crossentropy",
                               mixing->name(), objective.loss.name()));
}

namespace {

/// Whether labels have values for each position of an image that are not classes, which transforms cannot move; the
/// frames of a clip do not count.
bool has_image_values(const plan::Objective& objective, const graph::Graph& graph) {
  if (nn::compares_classes(objective.loss)) return false;
  const graph::Port& port = graph.outputs[static_cast<std::size_t>(objective.output)];
  const std::int64_t positions = nn::MetricSubject{.output = graph::tensor_of(graph, port).shape}.positions();
  return positions > 1 && std::ranges::any_of(input_side(graph).input_shapes, [&](const Shape& input) {
           return input.rank() == 3 || (input.rank() == 4 && input[0] != positions);
         });
}

/// A file that a data set, or a nested one, reads both as `inputs` and as `labels`; "" if there is none.
std::string file_of_both(const config::Node& dataset) {
  const config::Node *inputs = dataset.find("inputs"), *labels = dataset.find("labels");
  if (inputs != nullptr && labels != nullptr && inputs->is_scalar() && labels->is_scalar() &&
      inputs->str() == labels->str())
    return inputs->str();
  for (const config::Node::Entry& entry : dataset.entries())
    if (std::string file = file_of_both(entry.value); !file.empty()) return file;
  for (const config::Node& item : dataset.items())
    if (std::string file = file_of_both(item); !file.empty()) return file;
  return "";
}

}  // namespace

void check_positional_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                             const graph::Graph& graph) {
  const std::vector<plan::Objective> all = objectives(train, graph);
  const auto positional =
      std::ranges::find_if(all, [&](const plan::Objective& one) { return has_image_values(one, graph); });
  const std::string both = data.train ? file_of_both(data.train.write()) : "";
  std::vector<std::string> reported;  // a transform may be in both lists
  for (const auto* list : {&data.transforms.train, &data.transforms.eval})
    for (const config::Typed& spec : *list) {
      const std::unique_ptr<data::Transform> transform = data::make_transform(spec);
      std::string problem;
      if (positional != all.end() && transform->moves_pixels())
        problem = fmt::format(
            "{} moves the pixels of inputs but not the labels of output '{}', which have values for each position; "
            "remove "
            "it, or apply it to the files of both",
            spec.name(), output_names(graph)[static_cast<std::size_t>(positional->output)]);
      else if (!both.empty() && !transform->moves_pixels() && !transform->random() && !transform->fixes_size())
        problem = fmt::format(
            "{} scales inputs but not labels, and both are '{}'; remove it, and store scaled values in "
            "the file",
            spec.name(), std::filesystem::path(both).filename().string());
      if (problem.empty() || std::ranges::find(reported, spec.mark().str()) != reported.end()) continue;
      reported.push_back(spec.mark().str());
      reader.error(spec.mark(), problem);
    }
}

namespace {

double number(const config::Node& arguments, const char* key) {
  const config::Node* node = arguments.find(key);
  return node != nullptr && node->is_scalar() ? config::evaluate(node->str()).value_or(0) : 0;
}

/// Whether this transform is the preprocessing `mode`, by name or by its arithmetic.
bool is_preprocessing(const config::Typed& transform, const std::string& mode) {
  const config::Node arguments = transform.def().schema.write(transform.spec());
  if (transform.name() == "PreprocessInput") {
    const config::Node* found = arguments.find("mode");
    return found != nullptr && found->str() == mode;
  }
  return transform.name() == "Rescaling" && mode == "tf" && std::abs(number(arguments, "scale") * 127.5 - 1) < 1e-4 &&
         number(arguments, "offset") == -1;
}

}  // namespace

void advise_preprocessing(const graph::Graph& graph, const DataSection& data, config::Diagnostics& diagnostics) {
  if (!data.train && !data.validation && !data.test) return;
  const auto& transforms = data.transforms.eval;
  for (const graph::NetworkUse& use : graph.networks) {
    if (use.preprocessing == "built_in") continue;
    const bool there = std::any_of(transforms.begin(), transforms.end(), [&](const config::Typed& transform) {
      return is_preprocessing(transform, use.preprocessing);
    });
    if (use.reads_input && !there)
      diagnostics.warn(use.mark, fmt::format("the published weights of {} need images after 'PreprocessInput: {}', "
                                             "which data.transforms lacks; without it predictions are meaningless",
                                             use.network, use.preprocessing));
  }
}

}  // namespace dptrain::experiment
