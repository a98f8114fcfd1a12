#include "sweep/sweep_file.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "train/line_file.h"

namespace dptrain::sweep {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json json_of(const Plan& plan) {
  return {{"config", plan.config},
          {"directory", plan.directory},
          {"config_crc32", plan.config_checksum},
          {"set", plan.sets},
          {"var", plan.variables},
          {"vary", plan.vary},
          {"strategy", name_of(plan.strategy)},
          {"trials", plan.trials},
          {"seed", plan.seed},
          {"objective", plan.objective},
          {"mode", plan.larger_wins ? "max" : "min"},
          {"eta", plan.eta},
          {"rungs", plan.rungs}};
}

Plan plan_of(const Json& json) {
  Plan plan;
  json.at("config").get_to(plan.config);
  json.at("directory").get_to(plan.directory);
  json.at("config_crc32").get_to(plan.config_checksum);
  json.at("set").get_to(plan.sets);
  json.at("var").get_to(plan.variables);
  json.at("vary").get_to(plan.vary);
  plan.strategy = strategy_of(json.at("strategy").get<std::string>());
  json.at("trials").get_to(plan.trials);
  json.at("seed").get_to(plan.seed);
  json.at("objective").get_to(plan.objective);
  plan.larger_wins = json.at("mode").get<std::string>() == "max";
  json.at("eta").get_to(plan.eta);
  json.at("rungs").get_to(plan.rungs);
  return plan;
}

Json json_of(const Plan& plan, const Trial& trial) {
  Json values = Json::object();
  const std::vector<SweepParameter> space = plan.space();
  for (std::size_t i = 0; i < space.size(); ++i) values[space[i].key] = trial.values[i];
  const Outcome& outcome = trial.outcome;
  Json json{{"trial", trial.number},
            {"run", trial.folder()},
            {"values", values},
            {"status", name_of(trial.status)},
            {"rung", trial.rung},
            {"objective", nullptr},
            {"best_epoch", outcome.best_epoch},
            {"epochs", outcome.epochs},
            {"seconds", outcome.seconds},
            {"exit", outcome.exit},
            {"exit_code", outcome.exit_code},
            {"reason", outcome.reason}};
  if (outcome.objective) json["objective"] = *outcome.objective;
  return json;
}

Trial trial_of(const Json& json, const std::vector<SweepParameter>& space) {
  Trial trial;
  json.at("trial").get_to(trial.number);
  for (const SweepParameter& parameter : space)
    trial.values.push_back(json.at("values").at(parameter.key).get<std::string>());
  const auto status = json.at("status").get<std::string>();
  for (const Status known : {Status::kWaiting, Status::kRunning, Status::kDone, Status::kFailed})
    if (name_of(known) == status) trial.status = known;
  json.at("rung").get_to(trial.rung);
  Outcome& outcome = trial.outcome;
  if (json.at("objective").is_number()) outcome.objective = json.at("objective").get<double>();
  json.at("best_epoch").get_to(outcome.best_epoch);
  json.at("epochs").get_to(outcome.epochs);
  json.at("seconds").get_to(outcome.seconds);
  json.at("exit").get_to(outcome.exit);
  json.at("exit_code").get_to(outcome.exit_code);
  json.at("reason").get_to(outcome.reason);
  return trial;
}

std::string path_of(const std::string& folder) { return (fs::path(folder) / kSweepFile).string(); }

/// Rejects contents that write_sweep() cannot have written.
bool is_sound(const Sweep& sweep) {
  return static_cast<std::int64_t>(sweep.trials.size()) == sweep.plan.trials && sweep.plan.eta >= 2 &&
         std::ranges::all_of(sweep.trials, [&](const Trial& trial) { return trial.rung <= sweep.plan.last_rung(); });
}

}  // namespace

std::string text_of(const Sweep& sweep) {
  Json json{{"version", kVersion}, {"plan", json_of(sweep.plan)}, {"trials", Json::array()}};
  for (const Trial& trial : sweep.trials) json["trials"].push_back(json_of(sweep.plan, trial));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_sweep(const std::string& folder, const Sweep& sweep) { train::write_text(path_of(folder), text_of(sweep)); }

Sweep read_sweep(const std::string& folder) {
  const std::string path = path_of(folder), text = train::read_text(path);
  if (text.empty())
    throw Error(ErrorKind::kUsage, fmt::format("--resume: {} has no {}: no trial has begun there; start the sweep with "
                                               "dptrain sweep CONFIG --run-dir {}",
                                               folder, kSweepFile, folder));
  try {
    const Json json = Json::parse(check_json_depth(text, ErrorKind::kData, path));
    if (json.at("version") != kVersion) throw Error(ErrorKind::kData, "written by another version of dptrain");
    Sweep sweep{.plan = plan_of(json.at("plan")), .trials = {}};
    const std::vector<SweepParameter> space = sweep.plan.space();
    for (const Json& trial : json.at("trials")) sweep.trials.push_back(trial_of(trial, space));
    if (!is_sound(sweep)) throw Error(ErrorKind::kData, "its trials do not fit its plan");
    return sweep;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kData,
                fmt::format("{}: not as dptrain sweep writes it: {}; start another sweep", path, error.what()));
  }
}

bool is_sweep(const std::string& folder) {
  std::error_code ignored;
  return fs::is_regular_file(path_of(folder), ignored);
}

std::vector<std::string> runs_of(const std::vector<std::string>& named) {
  std::vector<std::string> runs;
  for (const std::string& name : named) {
    std::error_code ignored;
    const fs::path path(name), parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (is_sweep(name)) {
      for (const Trial& trial : read_sweep(name).trials)
        if (fs::exists(path / trial.folder() / "train.csv", ignored)) runs.push_back((path / trial.folder()).string());
    } else if (!fs::is_regular_file(path, ignored) || !is_sweep(parent.string())) {
      runs.push_back(name);
    }
  }
  if (runs.empty())
    throw Error(ErrorKind::kData, fmt::format("{}: no trial has an epoch yet", named.empty() ? "" : named.front()));
  return runs;
}

}  // namespace dptrain::sweep
