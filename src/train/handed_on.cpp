#include "train/handed_on.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "experiment/objectives.h"
#include "train/saved_state.h"

namespace dptrain::train {

exporting::Compiled compiled(const experiment::TrainSection& train, const graph::Graph& graph, double learning_rate) {
  exporting::Compiled compiled{.optimizer = train.optimizer, .learning_rate = learning_rate};
  const std::vector<std::string> names = experiment::output_names(graph);
  for (plan::Objective& objective : experiment::objectives(train, graph))
    compiled.outputs.push_back({.name = names.size() > 1 ? names[static_cast<std::size_t>(objective.output)] : "",
                                .loss = objective.loss,
                                .weight = objective.weight,
                                .metrics = std::move(objective.metrics)});
  return compiled;
}

HandedOn handed_on(const checkpoint::State& state, const experiment::Experiment& experiment) try {
  if (state.trainer.empty() || !experiment.config.train.loss) return {};
  const nlohmann::json trainer =
      nlohmann::json::parse(shallow_json(state.trainer, ErrorKind::kCheckpoint, "the state of the trainer"));
  if (!trainer.contains("rate")) return {};
  HandedOn all{.compiled = compiled(experiment.config.train, experiment.graph, trainer["rate"].get<double>())};
  exporting::OptimizerState& optimizer = all.optimizer_state.emplace();
  optimizer.iterations = saved_count(trainer, "earlier_steps") + saved_count(trainer, "step");
  for (const checkpoint::NamedArray& array : state.arrays)
    if (!array.name.starts_with("callback")) optimizer.slots.push_back(array);
  return all;
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint's training state cannot be read: {}", error.what()));
}

}  // namespace dptrain::train
