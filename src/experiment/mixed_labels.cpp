#include "experiment/mixed_labels.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/format.h"
#include "data/transform.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "nn/loss.h"

namespace dptrain::experiment {

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
    if (nn::loss_type(objective.loss).only_class_numbers)
      reader.error(mixing->mark(),
                   fmt::format("{} mixes labels, and {} takes class numbers only; use categorical_crossentropy",
                               mixing->name(), objective.loss.name()));
}

namespace {

/// Whether labels have a value for each of several positions of an image. The frames of a clip are no such positions.
bool has_image_positions(const plan::Objective& objective, const graph::Graph& graph) {
  const graph::Port& port = graph.outputs[static_cast<std::size_t>(objective.output)];
  const std::int64_t positions = nn::MetricSubject{.output = graph::tensor_of(graph, port).shape}.positions();
  return positions > 1 && std::ranges::any_of(input_side(graph).input_shapes, [&](const Shape& input) {
           return input.rank() == 3 || (input.rank() == 4 && input[0] != positions);
         });
}

/// A file that a data set, or one nested in it, reads as `inputs` and as `labels`; "" if there is none.
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
      std::ranges::find_if(all, [&](const plan::Objective& one) { return has_image_positions(one, graph); });
  const std::string both = data.train ? file_of_both(data.train.write()) : "";
  std::vector<std::string> reported;  // a transform may be in both lists
  for (const auto* list : {&data.transforms.train, &data.transforms.eval})
    for (const config::Typed& spec : *list) {
      const std::unique_ptr<data::Transform> transform = data::make_transform(spec);
      std::string problem;
      if (positional != all.end() && transform->moves_pixels())
        problem = fmt::format(
            "{} moves the pixels of inputs but not the labels of output '{}', which have a value for "
            "each position; remove it, or apply it to the files of both",
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

}  // namespace dptrain::experiment
