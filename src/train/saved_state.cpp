#include "train/saved_state.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "experiment/objectives.h"

namespace dptrain::train {

std::int64_t saved_count(const nlohmann::json& state, const char* name) {
  const auto count = state.value(name, std::int64_t{0});
  if (count < 0 || count > (std::int64_t{1} << 48))
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("the checkpoint's training state has an invalid count: {} {}", name, count));
  return count;
}

double saved_number(const nlohmann::json& value) { return value.is_null() ? std::nan("") : value.get<double>(); }

std::optional<double> saved_best(const nlohmann::json& state) {
  const auto found = state.find("best");
  return found == state.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

nlohmann::json logs_json(const experiment::Logs& logs) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, value] : logs.items()) list.push_back({name, value});
  return list;
}

experiment::Logs saved_logs(const nlohmann::json& saved) {
  experiment::Logs logs;
  for (const nlohmann::json& entry : saved) logs.set(entry.at(0).get<std::string>(), saved_number(entry.at(1)));
  return logs;
}

formats::CompileConfig compiled(const experiment::TrainSection& train, const graph::Graph& graph,
                                double learning_rate) {
  formats::CompileConfig compiled{.optimizer = train.optimizer, .learning_rate = learning_rate};
  const std::vector<std::string> names = experiment::output_names(graph);
  for (plan::Objective& objective : experiment::objectives(train, graph))
    compiled.outputs.push_back({.name = names.size() > 1 ? names[static_cast<std::size_t>(objective.output)] : "",
                                .loss = objective.loss,
                                .weight = objective.weight,
                                .metrics = std::move(objective.metrics)});
  return compiled;
}

ExportState export_state(const formats::CheckpointState& state, const experiment::Experiment& experiment) try {
  if (state.trainer.empty() || !experiment.config.train.loss) return {};
  const nlohmann::json trainer =
      nlohmann::json::parse(check_json_depth(state.trainer, ErrorKind::kCheckpoint, "the state of the trainer"));
  if (!trainer.contains("rate")) return {};
  ExportState all{.compiled = compiled(experiment.config.train, experiment.graph, trainer["rate"].get<double>())};
  formats::OptimizerState& optimizer = all.optimizer_state.emplace();
  optimizer.iterations = saved_count(trainer, "earlier_steps") + saved_count(trainer, "step");
  for (const formats::NamedArray& array : state.arrays)
    if (!array.name.starts_with("callback")) optimizer.slots.push_back(array);
  return all;
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint's training state cannot be read: {}", error.what()));
}

}  // namespace dptrain::train
