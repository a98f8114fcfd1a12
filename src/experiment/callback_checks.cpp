#include "experiment/callback_checks.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "experiment/callback_specs.h"
#include "experiment/objectives.h"
#include "experiment/run_files.h"

namespace dptrain::experiment {
namespace fs = std::filesystem;
namespace {

/// Any value does: only the names matter.
constexpr double kSomeValue = 1;

class CallbackChecks {
 public:
  CallbackChecks(config::Reader& reader, const ConfigFile& file, const graph::Graph& graph)
      : reader_(reader), file_(file) {
    const std::vector<std::string> names = value_names(file.train, graph);
    for (const std::string& name : names) epoch_.set(name, kSomeValue);
    every_epoch_ = epoch_;
    if (!file.data.validation) return;
    for (const std::string& name : names) {
      epoch_.set("val_" + name, kSomeValue);
      if (file.train.validate_every.value == 1) every_epoch_.set("val_" + name, kSomeValue);
    }
  }

  void check(const CallbackConfig& callback) {
    if (const auto* checkpoint = callback.get_if<ModelCheckpointSpec>()) {
      if (checkpoint->monitor && checkpoint->save_best_only) monitor(callback, *checkpoint->monitor, *checkpoint);
      if (checkpoint->filepath) filepath(callback, *checkpoint);
    }
    if (const auto* stopping = callback.get_if<EarlyStoppingSpec>()) monitor(callback, stopping->monitor);
    if (const auto* plateau = callback.get_if<ReduceLROnPlateauSpec>()) {
      for (Logs* logs : {&epoch_, &every_epoch_})
        logs->set("learning_rate", kSomeValue);  // for the callbacks from here on
      monitor(callback, plateau->monitor);
    }
    if (const auto* logger = callback.get_if<CSVLoggerSpec>()) filename(callback, logger->filename);
  }

 private:
  void error(const CallbackConfig& callback, const std::string& message) {
    reader_.error(callback.mark(), callback.name() + ": " + message);
  }

  void monitor(const CallbackConfig& callback, const std::string& name) {
    if (epoch_.find(name) != nullptr) return;
    std::vector<std::string> known;
    for (const auto& [key, value] : epoch_.items()) known.push_back(key);
    const bool no_validation = name.starts_with("val_") && !file_.data.validation;
    error(callback, fmt::format("there is no '{}' to monitor; there are {}{}", name, epoch_.names(),
                                no_validation ? "; data.validation is missing" : did_you_mean(name, known)));
  }
  void monitor(const CallbackConfig& callback, const std::string& name, const ModelCheckpointSpec& spec) {
    if (!spec.save_freq) return monitor(callback, name);
    if (name != "loss")
      error(callback,
            fmt::format("there is no '{}' to monitor; with save_freq there is the loss of the step alone", name));
  }

  void filepath(const CallbackConfig& callback, const ModelCheckpointSpec& spec) {
    const std::string& pattern = *spec.filepath;
    if (!stays_inside(pattern))
      return error(callback, fmt::format("filepath '{}' must be a name below the run's folder checkpoints, such as "
                                         "'net-{{epoch:02d}}.h5'",
                                         pattern));
    if (!pattern.ends_with(".h5"))
      return error(
          callback,
          fmt::format("filepath '{}' must end in .h5, the format that dptrain writes and Keras opens", pattern));
    Logs at_step;
    at_step.set("loss", kSomeValue);
    try {
      if (spec.save_freq)
        format_filepath(pattern, 1, 1, at_step);
      else
        format_filepath(pattern, 1, 0, every_epoch_);
    } catch (const Error& failure) {
      reader_.error(callback.mark(), failure.what());
    }
  }

  void filename(const CallbackConfig& callback, const std::string& name) {
    if (!stays_inside(name))
      return error(callback, fmt::format("filename '{}' must be a name below the run's folder", name));
    if (is_taken_by_run(name))
      error(callback, fmt::format("filename '{}' is a file that the run writes itself; choose another", name));
  }

  config::Reader& reader_;
  const ConfigFile& file_;
  Logs epoch_, every_epoch_;
};

}  // namespace

bool stays_inside(const std::string& path) {
  const fs::path given(path);
  return !path.empty() && given.is_relative() && given.has_filename() && given.filename() != "." &&
         std::ranges::find(given, fs::path("..")) == given.end() && path.find('\0') == std::string::npos;
}

void check_callbacks(config::Reader& reader, const ConfigFile& file, const graph::Graph* graph) {
  int unnamed_best = 0;
  const bool scheduled = file.train.optimizer && optim::common(file.train.optimizer).learning_rate.is_schedule();
  std::optional<CallbackChecks> checks;
  try {
    if (graph != nullptr && !graph->outputs.empty()) checks.emplace(reader, file, *graph);
  } catch (const Error&) {  // a metric does not fit the output: the plan says so
  }
  for (const CallbackConfig& callback : file.callbacks) {
    const auto* spec = callback.get_if<ModelCheckpointSpec>();
    if (scheduled && callback.get_if<ReduceLROnPlateauSpec>() != nullptr)
      reader.error(callback.mark(),
                   "ReduceLROnPlateau needs a plain learning_rate, found a schedule; remove one of the two");
    else if (callback.get_if<TerminateOnNaNSpec>() != nullptr && file.train.on_nonfinite &&
             file.train.on_nonfinite.get_if<StopSpec>() == nullptr)
      reader.error(callback.mark(),
                   fmt::format("TerminateOnNaN stops where train.on_nonfinite: {} goes on; remove one of the two",
                               file.train.on_nonfinite.name()));
    else if (spec != nullptr && spec->save_best_only && !spec->filepath && ++unnamed_best > 1)
      reader.error(callback.mark(),
                   "ModelCheckpoint: a second save_best_only needs its own filepath; two monitors need two names");
    else if (checks)
      checks->check(callback);
  }
}

}  // namespace dptrain::experiment
