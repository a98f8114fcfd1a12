#include "train/model_source.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/sources/csv_layout.h"
#include "formats/checkpoint/weights.h"
#include "nn/optimizer.h"
#include "train/position.h"
#include "train/run_directory.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace fs = std::filesystem;
namespace {

formats::CheckpointState whole_state(const std::string& path) {
  formats::CheckpointState state = formats::read_state(path);
  if (state.resolved_config.empty())
    throw Error(ErrorKind::kCheckpoint, fmt::format("{}: the file contains no config", path));
  return state;
}

/// The experiment for a file with only weights: that of its run or, with `own_model`, the layers in the file.
experiment::Experiment experiment_of_weights(const std::string& path, const experiment::Overrides& overrides,
                                             const SourceUse& use) {
  const std::string run = run_of(path), config = (fs::path(run) / "config.resolved.yaml").string();
  std::error_code error;
  if (!run.empty() && fs::exists(config, error)) return experiment::load_with_warnings(config, overrides);
  if (!use.own_model)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("{}: the file contains no config of data and training; use it with a config: dptrain {}",
                            path, fmt::format(fmt::runtime(use.with_config), path)));
  config::Node model = config::Node::map(), all = config::Node::map();
  model.set("from_keras", config::Node::text(fs::absolute(path).string()));
  all.set("dptrain", config::Node::integer(1));
  all.set("model", std::move(model));
  return experiment::load_experiment_text(config::to_yaml(all), path, overrides);
}

/// A checkpoint may be untrusted: ignores output files that its own config names, unless flags set them.
void ignore_written_paths(const experiment::Overrides& overrides, const std::string& path,
                          experiment::Experiment& experiment) {
  const auto is_set = [&](const std::string& key) {
    return std::ranges::any_of(overrides.sets, [&](const std::string& set) {
      const std::string name = set.substr(0, set.find('='));
      return name == key || key.starts_with(name + ".") || name.starts_with(key + ".");
    });
  };
  std::vector<std::string> ignored;
  const auto ignore = [&](const std::string& key, const config::Path& file) {
    if (is_set(key)) return false;
    ignored.push_back(fmt::format("{}: {}", key, file.value));
    return true;
  };
  experiment::ConfigFile& config = experiment.config;
  if (config.gates && config.gates->junit && ignore("gates.junit", *config.gates->junit)) config.gates->junit.reset();
  data::CacheOptions& cache = config.data.loader.cache;
  if (cache.kind == data::CacheOptions::Kind::kDisk && ignore("data.loader.cache", cache.folder)) cache = {};
  experiment::CachePrefix& prefix = config.runtime.cache_frozen_prefix;
  if (prefix.kind == experiment::CachePrefix::Kind::kDisk && ignore("runtime.cache_frozen_prefix", prefix.folder))
    prefix = {};
  experiment::ConvCache& conv = config.runtime.conv_cache;
  if (conv.kind == experiment::ConvCache::Kind::kFile && ignore("runtime.conv_cache", conv.file)) conv = {};
  if (!ignored.empty())
    log::warn(fmt::format("{}: files that the checkpoint's config would write are ignored ({}); name them with --set",
                          path, join(ignored, ", ")));
}

graph::WeightsSpec weights_from(const std::string& path) {
  graph::WeightsSpec weights;
  weights.file.value = path;
  return weights;
}

/// A damaged checkpoint counts as one: its reader reports a better error than the config reader.
bool meant_as_checkpoint(const std::string& path) {
  const std::string suffix = fs::path(path).extension().string();
  return suffix == ".h5" || suffix == ".hdf5" || suffix == ".keras" || suffix == ".safetensors" ||
         formats::is_checkpoint(path);
}

using FindFile = std::string (*)(const std::string& run);

std::string last_state_of(const std::string& run) {
  const fs::path file = fs::path(run) / "checkpoints" / "last.h5";
  std::error_code error;
  return fs::exists(file, error) ? file.string() : "";
}

/// The state in a run's last.h5 if its weights equal the model's: neither restored by a callback nor averages.
std::optional<formats::CheckpointState> last_state_with(const graph::Model& model, const std::string& run) {
  const std::string file = last_state_of(run);
  if (file.empty()) return std::nullopt;
  graph::Model last = model;
  formats::load_weights(file, last);
  if (!std::ranges::equal(last.weights, model.weights, {}, &graph::Weight::values, &graph::Weight::values))
    return std::nullopt;
  return formats::read_state(file);
}

/// The run below a folder whose found file is the newest; "" if there is none.
std::string newest_run(const fs::path& folder, const std::function<std::string(const std::string& run)>& find) {
  std::error_code error;
  std::string newest;
  fs::file_time_type when{};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) continue;
    const auto written = fs::last_write_time(find(entry.path().string()), error);
    if (error || (!newest.empty() && written < when)) continue;
    newest = entry.path().string(), when = written;
  }
  return newest;
}

/// Throws if `newest` names a run.
void refuse_missing_run(const std::string& path, const std::string& newest, ErrorKind kind) {
  if (newest.empty()) return;
  throw Error(kind, fmt::format("{}: there is no such run; the newest run in {} is {}", path,
                                fs::path(newest).parent_path().string(), newest));
}

/// "." for a bare name, "runs/net" for "runs/net/999/".
fs::path folder_of(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Throws for the path of a missing run, such as `eval runs/net/999`.
void require_run(const std::string& path) {
  std::error_code error;
  if (path == "-" || fs::exists(path, error) || fs::path(path).has_extension()) return;
  refuse_missing_run(path, newest_run(folder_of(path), train::RunDirectory::weights_of), ErrorKind::kCheckpoint);
}

std::string file_of(const std::string& path, FindFile find, const char* expected) {
  std::error_code error;
  require_run(path);
  if (!fs::exists(path, error)) throw Error(ErrorKind::kCheckpoint, fmt::format("{}: no such file", path));
  if (!fs::is_directory(path, error)) return path;
  if (std::string file = find(path); !file.empty()) return file;
  const std::string run = newest_run(path, find);
  throw Error(ErrorKind::kCheckpoint, fmt::format("{}: the folder has no {}{}", path, expected,
                                                  run.empty() ? "" : fmt::format("; the newest run in it is {}", run)));
}

}  // namespace

std::string weights_file(const std::string& path) {
  return file_of(path, train::RunDirectory::weights_of, "checkpoints/best.h5 or checkpoints/last.h5");
}

std::string last_state_file(const std::string& path) { return file_of(path, last_state_of, "checkpoints/last.h5"); }

void require_run_with(const std::string& folder, const std::string& file) {
  const auto find = [&](const std::string& run) { return (fs::path(run) / file).string(); };
  std::error_code error;
  if (fs::exists(fs::path(folder) / file, error)) return;
  if (!fs::exists(folder, error)) {
    refuse_missing_run(folder, newest_run(folder_of(folder), find), ErrorKind::kData);
    throw Error(ErrorKind::kData, fmt::format("{}: there is no such folder", folder));
  }
  if (const std::string run = newest_run(folder, find); !run.empty())
    throw Error(ErrorKind::kData,
                fmt::format("{0}: the folder has no {1}; the newest run in {0} is {2}", folder, file, run));
}

std::string run_of(const std::string& checkpoint) {
  const fs::path folder = fs::absolute(checkpoint).lexically_normal().parent_path();
  std::error_code error;
  if (folder.filename() == "checkpoints") return folder.parent_path().lexically_proximate(fs::current_path()).string();
  return fs::exists(folder / "config.resolved.yaml", error) ? folder.lexically_proximate(fs::current_path()).string()
                                                            : "";
}

void ModelSource::load_weights(graph::Model& model, bool averages) const {
  if (weights)
    formats::load_weights(*weights, model, complete ? formats::Coverage::kAll : formats::Coverage::kSome);
  else
    formats::load_weights(checkpoint, model);
  if (!averages) return;
  const config::Typed& optimizer = experiment.config.train.optimizer;
  if (is_run_model && nn::common(optimizer).use_ema) return;  // model.h5 has the averages
  if (!state || !nn::common(optimizer).use_ema)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("--ema: {} contains no averages; `use_ema: true` in the optimizer adds them", checkpoint));
  train::use_averages(*state, model);
}

void ModelSource::describe_training(formats::Exported& exported) const {
  const std::optional<formats::CheckpointState> of_run =
      is_run_model ? last_state_with(exported.model, run_of(checkpoint)) : std::nullopt;
  if (!of_run && (!state || weights)) return;
  train::ExportState exported_state = train::export_state(of_run ? *of_run : *state, experiment);
  exported.compiled = std::move(exported_state.compiled);
  exported.optimizer_state = std::move(exported_state.optimizer_state);
}

namespace {

ModelSource open_source(const std::string& path, const std::optional<std::string>& weights,
                        experiment::Overrides overrides, const SourceUse& use) {
  overrides.callbacks = false;
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  ModelSource source;
  if (folder || meant_as_checkpoint(path)) {
    if (weights)
      throw Error(ErrorKind::kUsage, fmt::format("--weights applies to a config, but {} is a checkpoint", path));
    source.checkpoint = folder ? weights_file(path) : path;
    if (formats::is_weights_only(source.checkpoint)) {
      source.experiment = experiment_of_weights(source.checkpoint, overrides, use);
      ignore_written_paths(overrides, source.checkpoint, source.experiment);
      source.weights = weights_from(source.checkpoint);
      source.complete = true;
      source.is_run_model = folder;
      return source;
    }
    source.state = whole_state(source.checkpoint);
    source.experiment = experiment::load_experiment_text(source.state->resolved_config, source.checkpoint, overrides);
    ignore_written_paths(overrides, source.checkpoint, source.experiment);
    return source;
  }
  require_run(path);
  source.experiment = experiment::load_with_warnings(path, overrides);
  if (!weights) {
    source.weights = source.experiment.graph.weights;
    if (!source.weights) return source;
    source.checkpoint = source.weights->file.value;
    // Missing layers would keep random values.
    source.weights->expect = {"*"};
    return source;
  }
  source.checkpoint = weights_file(*weights);
  source.weights = weights_from(source.checkpoint);
  source.complete = true;
  try {
    source.state = formats::read_state(source.checkpoint);
  } catch (const Error& only_weights) {
    log::debug(only_weights.what());  // a Keras file or model.h5; load_weights() reports other files
  }
  return source;
}

/// Reads class names, vocabularies and means from the file. load_weights() reports a file that cannot be read.
void read_data_facts(ModelSource& source) {
  if (source.checkpoint.empty()) return;
  try {
    source.fitted_state = source.state ? source.state->fitted_state : formats::read_fitted_state(source.checkpoint);
    source.class_names = data::class_names_of_model(
        source.fitted_state, source.state ? source.state->class_names : formats::read_class_names(source.checkpoint));
  } catch (const Error& error) {
    log::debug(error.what());
  }
}

}  // namespace

ModelSource open_model_source(const std::string& path, const std::optional<std::string>& weights,
                              experiment::Overrides overrides, const SourceUse& use) {
  ModelSource source = open_source(path, weights, std::move(overrides), use);
  read_data_facts(source);
  return source;
}

}  // namespace dptrain::train
