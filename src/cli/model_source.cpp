#include "cli/model_source.h"

#include <filesystem>

#include "checkpoint/weights.h"
#include "cli/config_flags.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "train/handed_on.h"
#include "train/position.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

checkpoint::State whole_state(const std::string& path) {
  checkpoint::State state = checkpoint::read_state(path);
  if (state.resolved_config.empty())
    throw Error(ErrorKind::kCheckpoint, fmt::format("{}: the file holds no config", path));
  return state;
}

/// Of a file with weights alone: the run's that it lies in, or for `own_model` what the file itself says of its layers.
experiment::Experiment experiment_beside(const std::string& path, const experiment::Overrides& overrides,
                                         const SourceUse& use) {
  const std::string run = run_of(path), config = (fs::path(run) / "config.resolved.yaml").string();
  std::error_code error;
  if (!run.empty() && fs::exists(config, error)) return load(config, overrides);
  if (!use.own_model)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("{}: the file holds weights and no config; with the config at hand: dptrain {}", path,
                            fmt::format(fmt::runtime(use.with_config), path)));
  config::Node model = config::Node::map(), all = config::Node::map();
  model.set("from_keras", config::Node::text(fs::absolute(path).string()));
  all.set("dptrain", config::Node::integer(1));
  all.set("model", std::move(model));
  return experiment::load_experiment_text(config::to_yaml(all), path, overrides);
}

graph::WeightsSpec weights_from(const std::string& path) {
  graph::WeightsSpec weights;
  weights.file.value = path;
  return weights;
}

/// A damaged checkpoint is one nevertheless, and says so better than the reader of configs would.
bool meant_as_checkpoint(const std::string& path) {
  const std::string suffix = fs::path(path).extension().string();
  return suffix == ".h5" || suffix == ".hdf5" || suffix == ".keras" || suffix == ".safetensors" ||
         checkpoint::is_checkpoint(path);
}

/// Whoever gives the folder of all runs means one of them: the newest run below it that has a checkpoint, or "".
std::string newest_run_below(const fs::path& folder, const std::vector<std::string>& names) {
  std::error_code error;
  std::string newest;
  fs::file_time_type when{};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    for (const std::string& name : names) {
      const auto written = fs::last_write_time(entry.path() / "checkpoints" / name, error);
      if (error || (!newest.empty() && written < when)) continue;
      newest = entry.path().string(), when = written;
    }
  return newest;
}

}  // namespace

std::string checkpoint_file(const std::string& path, const std::vector<std::string>& names) {
  std::error_code error;
  if (!fs::exists(path, error)) throw Error(ErrorKind::kCheckpoint, fmt::format("{}: no such file", path));
  if (!fs::is_directory(path, error)) return path;
  for (const std::string& name : names)
    if (const fs::path file = fs::path(path) / "checkpoints" / name; fs::exists(file, error)) return file.string();
  const std::string run = newest_run_below(path, names);
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("{}: the folder has no checkpoints/{}{}", path, join(names, " or checkpoints/"),
                          run.empty() ? "" : fmt::format("; the newest run in it is {}", run)));
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
    checkpoint::load_weights(*weights, model, complete ? checkpoint::Coverage::kAll : checkpoint::Coverage::kSome);
  else
    checkpoint::load_weights(checkpoint, model);
  if (!averages) return;
  const config::Typed& optimizer = experiment.config.train.optimizer;
  if (!state || !optim::common(optimizer).use_ema)
    throw Error(
        ErrorKind::kCheckpoint,
        fmt::format("--ema: {} holds no averages; they come with `use_ema: true` in the optimizer", checkpoint));
  train::use_averages(*state, model);
}

void ModelSource::describe_training(exporting::Exported& exported) const {
  if (!state || weights) return;
  train::HandedOn handed = train::handed_on(*state, experiment);
  exported.compiled = std::move(handed.compiled);
  exported.optimizer_state = std::move(handed.optimizer_state);
}

ModelSource open_model_source(const std::string& path, const std::optional<std::string>& weights,
                              experiment::Overrides overrides, const SourceUse& use) {
  overrides.callbacks = false;
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  ModelSource source;
  if (folder || meant_as_checkpoint(path)) {
    if (weights)
      throw Error(ErrorKind::kUsage, fmt::format("--weights belongs to a config, but {} is a checkpoint", path));
    source.checkpoint = folder ? checkpoint_file(path, {"best.h5", "last.h5"}) : path;
    if (checkpoint::is_weights_only(source.checkpoint)) {
      source.experiment = experiment_beside(source.checkpoint, overrides, use);
      source.weights = weights_from(source.checkpoint);
      source.complete = true;
      source.learned = checkpoint::read_learned(source.checkpoint);
      return source;
    }
    source.state = whole_state(source.checkpoint);
    source.learned = source.state->learned;
    source.experiment = experiment::load_experiment_text(source.state->resolved_config, source.checkpoint, overrides);
    return source;
  }
  source.experiment = load(path, overrides);
  if (!weights) {
    source.weights = source.experiment.graph.weights;
    if (!source.weights) return source;
    source.checkpoint = source.weights->file.value;
    // What the file does not fill would be numbers drawn at random.
    source.weights->expect = {"*"};
    return source;
  }
  source.checkpoint = checkpoint_file(*weights, {"best.h5", "last.h5"});
  source.weights = weights_from(source.checkpoint);
  source.complete = true;
  source.learned = checkpoint::read_learned(source.checkpoint);
  try {
    source.state = checkpoint::read_state(source.checkpoint);
  } catch (const Error& only_weights) {
    log::debug(only_weights.what());  // a file of Keras or model.h5: load_weights says what is wrong with others
  }
  return source;
}

}  // namespace dptrain::cli
