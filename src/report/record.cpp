#include "report/record.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "config/config_loader.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/experiment.h"
#include "experiment/run_files.h"
#include "train/fault.h"
#include "train/line_file.h"

namespace dptrain::report {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

/// Null if the file is missing; null with a warning if it is not JSON.
Json json_in(const fs::path& file) {
  const std::string text = train::read_text(file.string());
  if (text.empty()) return {};
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_discarded()) return json;
  log::warn(fmt::format("{} is skipped: it is not JSON", file.string()));
  return {};
}

std::map<std::string, double> numbers_in(const Json& json) {
  std::map<std::string, double> all;
  for (const auto& [name, value] : json.items())
    if (value.is_number()) all[name] = value.get<double>();
  return all;
}

std::optional<ResultRecord> read_result(const fs::path& folder) {
  const Json json = json_in(folder / "result.json");
  if (!json.is_object()) return std::nullopt;
  ResultRecord result{.exit = json.value("exit", ""),
                      .reason = json.value("reason", ""),
                      .epochs = json.value("epochs", std::int64_t{0}),
                      .steps = json.value("steps", std::int64_t{0}),
                      .skipped_steps = json.value("skipped_steps", std::int64_t{0}),
                      .rollbacks = json.value("rollbacks", std::int64_t{0}),
                      .seconds = json.value("seconds", 0.0),
                      .examples_per_second = json.value("examples_per_second", 0.0),
                      .final = numbers_in(json.value("final", Json::object())),
                      .best = numbers_in(json.value("best", Json::object()))};
  if (const auto epoch = result.best.find("epoch"); epoch != result.best.end()) {
    result.best_epoch = static_cast<std::int64_t>(epoch->second);
    result.best.erase(epoch);
  }
  return result;
}

std::optional<train::RunCurves> read_curves(const std::string& folder, const std::string& name) {
  try {
    return train::read_run(folder, name);
  } catch (const Error& none) {
    log::debug(none.what());
    return std::nullopt;
  }
}

/// Appends all values with their paths, such as "machine.cpu".
void flatten(const Json& json, const std::string& place, Fields& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) flatten(value, place.empty() ? key : place + "." + key, out);
    return;
  }
  if (json.is_array()) {
    std::vector<std::string> parts;
    for (const Json& one : json) parts.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    out.emplace_back(place, join(parts, "; "));
    return;
  }
  out.emplace_back(place, json.is_string() ? json.get<std::string>() : json.dump());
}

std::optional<TimeRecord> read_time(const fs::path& folder, const RunRecord& run) {
  TimeRecord time;
  double before = 0;
  for (const std::string& line : train::LineFile::read((folder / "steps.csv").string())) {
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() < 8 || fields.front() == "step") continue;
    const auto number = [&](std::size_t i) { return std::strtod(fields[i].c_str(), nullptr); };
    const bool sound = std::isfinite(number(0)) && number(0) >= 0 && number(0) < 1e15 && std::isfinite(number(5)) &&
                       std::isfinite(number(6)) && std::isfinite(number(7));
    if (!sound) continue;
    const double steps = std::max(0.0, number(0) - before), waits = std::min(number(7), number(5));
    before = number(0);
    time.steps += static_cast<std::int64_t>(steps);
    time.computing += steps * (number(5) - waits) / 1e3;
    time.data += steps * number(6) / 1e3;
    time.others += steps * waits / 1e3;
  }
  if (time.steps == 0) return std::nullopt;
  for (const std::string& line : train::LineFile::read((folder / "events.jsonl").string())) {
    const Json event = Json::parse(line, nullptr, false);
    if (!event.is_object()) continue;
    const auto seconds = [&](const char* key) {
      const auto at = event.find(key);
      return at != event.end() && at->is_number() ? at->get<double>() : 0.0;
    };
    const auto kind = event.find("ev");
    if (kind == event.end() || !kind->is_string()) continue;
    if (*kind == "features") time.features += seconds("seconds");
    if (*kind == "end") time.saving += seconds("save_stall_seconds");
  }
  double whole = run.result ? run.result->seconds : 0;
  if (!run.result && run.curves)
    for (const plot::Point& epoch : run.curves->column("seconds")) whole += epoch.y;
  time.rest = std::max(0.0, whole - time.computing - time.data - time.others - time.features);
  return time;
}

/// Leaves out the callbacks, which are never called here.
experiment::Overrides as_it_is() {
  experiment::Overrides overrides;
  overrides.callbacks = false;
  return overrides;
}

void read_model(RunRecord& run) {
  try {
    const experiment::Experiment experiment =
        experiment::load_experiment_text(run.resolved, run.folder + "/config.resolved.yaml", as_it_is());
    const graph::Model model = graph::undrawn_model(experiment.graph, experiment.config.seed);
    run.layers = graph::summary_rows(model);
    run.parameters = model.parameters();
    run.trainable = model.trainable_parameters();
    run.has_validation = experiment.config.data.validation || experiment.config.data.test;
  } catch (const Error& error) {
    run.model_problem = error.what();
  }
}

/// Whether the config contains the absolute path itself, not as the end of a relative one.
bool has_path(const std::string& config, const std::string& path) {
  for (std::size_t at = config.find(path); at != std::string::npos; at = config.find(path, at + 1))
    if (at == 0 || std::string_view(" \t\n[{,:'\"").find(config[at - 1]) != std::string_view::npos) return true;
  return false;
}

/// Relative paths in the config are resolved here from the current folder, in the run from the config's folder.
bool may_be_same_place(const std::string& ran, const std::string& was, const std::string& config) {
  if (!ran.starts_with('/') || !was.starts_with('/') || has_path(config, was)) return false;
  fs::path below;
  for (const fs::path& part : fs::path(was).lexically_relative(fs::current_path()))
    if (part != "..") below /= part;
  return ran.ends_with("/" + below.string());
}

/// Compares two values, or two lists such as "[/data/a.csv, /data/b.csv]".
bool means_the_same(const std::string& ran, const std::string& was, const std::string& config) {
  const auto parts = [](std::string value) {
    if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
    return split(value, ',');
  };
  return std::ranges::equal(parts(ran), parts(was), [&](const std::string& one, const std::string& other) {
    return trim(one) == trim(other) || may_be_same_place(trim(one), trim(other), config);
  });
}

/// Settings changed by flags: the config without the command's flags compared with the settings of the run.
Fields changed_settings(const RunRecord& run) {
  Fields changed;
  try {
    const experiment::Experiment plain =
        experiment::load_experiment_text(run.config, run.folder + "/config.yaml", as_it_is());
    const Fields before = settings_of(config::to_yaml(experiment::resolved(plain)));
    for (const auto& [name, was, now] : changes(before, run.settings))
      if (!now.empty() && !means_the_same(now, was, run.config))
        changed.emplace_back(name, was.empty() ? now : was + " → " + now);
  } catch (const Error& needs_flags) {  // such as a variable without a value
    log::debug(needs_flags.what());
  }
  return changed;
}

void read_log(const fs::path& folder, RunRecord& run) {
  for (const std::string& line : train::LineFile::read((folder / "train.log").string()))
    if (line.starts_with("warning: ") && std::ranges::find(run.warnings, line) == run.warnings.end())
      run.warnings.push_back(line);
  run.bad_samples = csv_rows(train::read_text((folder / experiment::kDataErrors).string()));
  if (!run.bad_samples.empty()) run.bad_samples.erase(run.bad_samples.begin());
  std::error_code ignored;
  if (!fs::exists(folder / "fault" / train::kFaultFile, ignored)) return;
  try {
    const train::Fault fault = train::read_fault((folder / "fault").string());
    run.fault = fmt::format("Step {}, epoch {}: {}", fault.step, fault.epoch, fault.what);
    if (fault.first) run.fault += "\n" + train::describe(fault);
  } catch (const Error& unreadable) {
    log::warn(unreadable.what());
  }
}

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "config.resolved.yaml", ignored);
}

/// The last run in a folder of runs, else the usual form of a run's folder.
std::string example_below(const fs::path& folder) {
  std::string last;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (is_run(entry.path())) last = std::max(last, entry.path().string());
  return last.empty() ? "runs/NAME/001" : "such as " + last;
}

}  // namespace

RunRecord read_record(const std::string& folder, const std::string& name) {
  const fs::path path(folder);
  std::error_code ignored;
  if (!is_run(path))
    throw Error(ErrorKind::kData, fmt::format("{}: {}; give the folder of a run, as dptrain fit makes it, {}", folder,
                                              fs::is_directory(path, ignored) ? "the folder has no config.resolved.yaml"
                                                                              : "there is no such folder",
                                              example_below(path)));
  RunRecord run{.folder = folder, .name = name};
  try {
    run.result = read_result(path);
  } catch (const Json::exception& other) {  // a value of another type than dptrain writes
    log::warn(fmt::format("{} is skipped: {}", (path / "result.json").string(), other.what()));
  }
  run.curves = read_curves(folder, name);
  run.evaluations = read_evaluations(folder);
  run.time = read_time(path, run);
  run.config = train::read_text((path / "config.yaml").string());
  run.resolved = train::read_text((path / "config.resolved.yaml").string());
  run.command = train::read_text((path / "command.txt").string());
  run.settings = settings_of(run.resolved);
  run.changed = changed_settings(run);
  read_model(run);
  if (const Json environment = json_in(path / "env.json"); environment.is_object())
    flatten(environment, "", run.environment);
  run.date = value_of(run.environment, "time");
  read_log(path, run);
  return run;
}

namespace {

using config::Node;

bool is_plain(const Node& node) {
  return !node.is_map() && (!node.is_sequence() || std::ranges::all_of(node.items(), is_plain));
}

std::string plain_text(const Node& node) {
  if (node.is_null()) return "null";
  if (!node.is_sequence()) return node.str();
  std::vector<std::string> parts;
  for (const Node& item : node.items()) parts.push_back(plain_text(item));
  return "[" + join(parts, ", ") + "]";
}

/// The name of a list item: "conv1" for a layer, "EarlyStopping" for a callback; "" if it has none.
std::string name_of(const Node& item) {
  if (!item.is_map()) return item.is_scalar() ? item.str() : "";
  if (item.entries().size() != 1) return "";
  const Node::Entry& only = item.entries().front();
  const Node* const name = only.value.find("name");
  return name != nullptr && name->is_scalar() ? name->str() : only.key;
}

class Flattener {
 public:
  void walk(const Node& node, const std::string& place) {
    if (is_plain(node))
      fields_.emplace_back(place, plain_text(node));
    else if (node.is_sequence())
      walk_list(node, place);
    else
      for (const Node::Entry& entry : node.entries())
        walk(entry.value, place.empty() ? entry.key : place + "." + entry.key);
  }
  Fields fields_;

 private:
  void walk_list(const Node& node, const std::string& place) {
    std::vector<std::string> names;
    for (const Node& item : node.items()) names.push_back(name_of(item));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool known = !names[i].empty() && std::ranges::count(names, names[i]) == 1;
      const Node& item = node.items()[i];
      const Node& inside = item.is_map() && item.entries().size() == 1 ? item.entries().front().value : item;
      const std::string here = place + "." + (known ? names[i] : std::to_string(i));
      if (item.is_scalar())
        fields_.emplace_back(here, known ? "yes" : item.str());
      else
        walk(known ? inside : item, here);
    }
  }
};

}  // namespace

Fields settings_of(const std::string& yaml) {
  config::Diagnostics ignored;
  const Node root = config::load_text(yaml, "config.resolved.yaml", "", ignored);
  Flattener all;
  if (root.is_map()) all.walk(root, "");
  return all.fields_;
}

std::vector<Change> changes(const Fields& before, const Fields& now) {
  std::vector<Change> found;
  for (const auto& [name, value] : now)
    if (const std::string& was = value_of(before, name); was != value) found.push_back({name, was, value});
  for (const auto& [name, was] : before)
    if (!was.empty() && value_of(now, name).empty()) found.push_back({name, was, ""});
  return found;
}

std::vector<Change> changes(const experiment::Experiment& before, const experiment::Experiment& now) {
  const auto settings = [](const experiment::Experiment& of) {
    return settings_of(config::to_yaml(experiment::resolved(of)));
  };
  return changes(settings(before), settings(now));
}

const std::string& value_of(const Fields& fields, const std::string& name) {
  static const std::string kNone;
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? kNone : found->second;
}

}  // namespace dptrain::report
