#include "experiment/model_side.h"

#include <algorithm>

#include "data/loader.h"
#include "data/transform.h"
#include "nn/loss.h"
#include "nn/reshaping.h"

namespace dptrain::experiment {

namespace {

/// The mask value of the Masking layer that reads an input; nothing without one.
std::optional<double> padding_of(const graph::Graph& graph, int input) {
  for (const graph::Node& node : graph.nodes) {
    if (std::ranges::none_of(node.inputs, [&](const graph::Port& port) { return port.node == input; })) continue;
    const config::Typed& spec = graph::layer_of(graph, node).spec;
    if (const auto* masking = spec.get_if<nn::MaskingSpec>()) return masking->mask_value;
  }
  return std::nullopt;
}

data::LabelUse label_use(nn::Reads reads) {
  switch (reads) {
    case nn::Reads::kClasses: return data::LabelUse::kClasses;
    case nn::Reads::kProbabilities: return data::LabelUse::kAny;
    case nn::Reads::kValues: break;
  }
  return data::LabelUse::kNumbers;
}

}  // namespace

data::ModelSide input_side(const graph::Graph& graph) {
  data::ModelSide side;
  for (const int input : graph.inputs) {
    const graph::Node& node = graph.nodes[static_cast<std::size_t>(input)];
    side.input_names.push_back(node.name);
    side.input_shapes.push_back(node.output());
    side.input_types.push_back(node.outputs.front().type);
    side.id_limits.push_back(graph::id_limit(graph, input));
    side.paddings.push_back(padding_of(graph, input));
  }
  return side;
}

data::ModelSide model_side(const Experiment& experiment) {
  data::ModelSide side =
      model_side(experiment.graph, experiment::objectives(experiment.config.train, experiment.graph));
  const auto& transforms = experiment.config.data.transforms.train;
  side.pixels = data::expect_pixels({transforms.begin(), transforms.end()});
  return side;
}

std::int64_t positions_of(const Shape& output) {
  return output.elements() > 0 && output.rank() > 0 ? output.elements() / output.back() : 1;
}

data::ModelSide model_side(const graph::Graph& graph, const std::vector<plan::Objective>& objectives) {
  data::ModelSide side = input_side(graph);
  const auto add_output = [&](std::size_t output) {
    side.output_names.push_back(graph::name_of(graph, graph.outputs[output]));
    side.outputs.push_back(graph::tensor_of(graph, graph.outputs[output]).shape);
  };
  for (const plan::Objective& objective : objectives) {
    const nn::Reads reads = nn::loss_type(objective.loss).reads;
    add_output(static_cast<std::size_t>(objective.output));
    side.class_maps.push_back(reads == nn::Reads::kClasses && positions_of(side.outputs.back()) > 1);
    side.label_uses.push_back(label_use(reads));
  }
  for (std::size_t i = 0; i < graph.outputs.size() && objectives.empty(); ++i) add_output(i);
  return side;
}

void check_length_buckets(config::Reader& reader, const DataSection& data, const graph::Graph& graph) {
  const BucketByLength& setting = data.loader.bucket_by_length;
  if (setting.window == 0) return;
  const data::ModelSide side = input_side(graph);
  for (std::size_t i = 0; i < side.input_shapes.size(); ++i)
    if (side.has_lengths(i)) return;
  reader.error(setting.mark, data::kNoLengths);
}

}  // namespace dptrain::experiment
