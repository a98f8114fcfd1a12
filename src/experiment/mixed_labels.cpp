#include "experiment/mixed_labels.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/format.h"
#include "data/transform.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "optim/loss.h"

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
    if (optim::loss_type(objective.loss).only_class_numbers)
      reader.error(mixing->mark(),
                   fmt::format("{} mixes labels, and {} takes class numbers only; use categorical_crossentropy",
                               mixing->name(), objective.loss.name()));
}

namespace {

/// "3" for each place of the image: more positions than one, and not the frames of a clip.
bool labels_follow_image(const plan::Objective& objective, const graph::Graph& graph) {
  const graph::Port& port = graph.outputs[static_cast<std::size_t>(objective.output)];
  const optim::MetricSubject subject{.output = graph::tensor_of(graph, port).shape};
  if (subject.positions() <= 1) return false;
  bool has_image = false, of_frames = false;
  for (const Shape& input : input_side(graph).input_shapes) {
    has_image = has_image || input.rank() == 3;
    of_frames = of_frames || (input.rank() == 4 && subject.positions() == input[0]);
    has_image = has_image || (input.rank() == 4 && !of_frames);
  }
  return has_image;
}

/// A file that a data set, or one inside it, reads as `inputs` and as `labels`; "" if there is none.
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
      std::ranges::find_if(all, [&](const plan::Objective& one) { return labels_follow_image(one, graph); });
  const std::string target = data.train ? file_of_both(data.train.write()) : "";
  std::vector<std::string> reported;  // a transform may be in both lists
  for (const auto* list : {&data.transforms.train, &data.transforms.eval})
    for (const config::Typed& spec : *list) {
      const std::unique_ptr<data::Transform> transform = data::make_transform(spec);
      const bool moves = positional != all.end() && transform->moves_pixels();
      const bool scales =
          !target.empty() && !transform->moves_pixels() && !transform->random() && !transform->fixes_size();
      if ((!moves && !scales) || std::ranges::find(reported, spec.mark().str()) != reported.end()) continue;
      reported.push_back(spec.mark().str());
      reader.error(spec.mark(),
                   moves
                       ? fmt::format("{} moves the pixels of inputs, and labels of output '{}' have a value for each "
                                     "position and stay in place; remove it, or apply it to the files of both",
                                     spec.name(), output_names(graph)[static_cast<std::size_t>(positional->output)])
                       : fmt::format("{} scales inputs but not labels, and both are '{}'; remove it, and store values "
                                     "of the wanted range in the file",
                                     spec.name(), std::filesystem::path(target).filename().string()));
    }
}

}  // namespace dptrain::experiment
