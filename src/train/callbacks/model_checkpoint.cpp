#include "train/callbacks/model_checkpoint.h"

#include <cmath>
#include <deque>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "train/callback_def.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

/// printf-style conversion of one Python format spec such as "02d" or ".3f".
std::string format_value(const std::string& spec, double value, bool integral) {
  constexpr std::size_t kLongest = 6;  // "010.4f": file names need no larger width
  if (spec.empty()) return integral ? fmt::format("{}", static_cast<std::int64_t>(value)) : shortest(value);
  try {
    if (spec.size() > kLongest) throw std::runtime_error("too long");
    if (integral) return fmt::format(fmt::runtime("{:" + spec + "}"), static_cast<std::int64_t>(value));
    return fmt::format(fmt::runtime("{:" + spec + "}"), value);
  } catch (const std::runtime_error&) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("ModelCheckpoint: filepath: '{}' is not a format; try {{epoch:02d}} or {{val_loss:.2f}}", spec));
  }
}

class ModelCheckpoint final : public Callback {
 public:
  explicit ModelCheckpoint(const ModelCheckpointSpec& spec) : spec_(spec), best_(spec.initial_value_threshold) {}

  std::string name() const override { return "ModelCheckpoint"; }
  std::string subject() const override { return spec_.filepath.value_or(default_path()); }

  void train_begin(TrainingControl& control, bool resumed) override {
    // A run that continues in another folder has no best weights yet.
    const std::string file = spec_.filepath.value_or(default_path());
    if (resumed && spec_.save_best_only && file.find('{') == std::string::npos && !control.has_checkpoint(file))
      best_ = spec_.initial_value_threshold;
    monitor_ = spec_.monitor.value_or(control.has_validation() ? "val_loss" : "loss");
    last_time_ = now_seconds();
  }

  bool stops_at(TrainingControl& control, std::int64_t step) override {
    if (!spec_.save_freq || !due(control, step)) return false;
    last_time_ = now_seconds();
    last_step_ = step;
    last_epochs_ = control.batches(step) / static_cast<double>(control.steps_per_epoch());
    return true;
  }

  void step_end(TrainingControl& control, const StepReport& report) override {
    if (!spec_.save_freq || report.step != last_step_) return;
    experiment::Logs logs;
    logs.set("loss", report.loss);
    save(control, logs, report.epoch + 1, report.batch);
  }

  void epoch_end(TrainingControl& control, EpochReport& report) override {
    if (!spec_.save_freq && !monitors_validation(control)) save(control, report.logs, report.epoch + 1, 0);
  }
  void validation_end(TrainingControl& control, const ValidationReport& report) override {
    if (!spec_.save_freq && monitors_validation(control)) save(control, report.logs, report.epoch + 1, report.batch);
  }

  nlohmann::json save() const override {
    nlohmann::json state{{"written", written_}, {"last_step", last_step_}};
    if (last_epochs_) state["last_epochs"] = *last_epochs_;
    if (best_) state["best"] = *best_;
    return state;
  }
  void restore(const nlohmann::json& state) override {
    best_ = saved_best(state);
    written_ = state.value("written", std::deque<std::string>());
    for (const std::string& file : written_)  // keep() removes these later
      if (!experiment::is_inside_folder(file) || !file.ends_with(".h5"))
        throw Error(
            ErrorKind::kCheckpoint,
            fmt::format("the checkpoint's ModelCheckpoint names '{}', which is none of a run's checkpoints", file));
    last_step_ = saved_count(state, "last_step");
    if (state.contains("last_epochs")) last_epochs_ = state["last_epochs"].get<double>();
  }

 private:
  /// Whether the monitored value is compared after each validation rather than at epoch ends.
  bool monitors_validation(const TrainingControl& control) const {
    return spec_.save_best_only && is_compared_at_validation(control, monitor_);
  }

  /// A bare number counts batches, as in Keras. Epochs and samples are counted in samples, whatever the batch size.
  bool due(TrainingControl& control, std::int64_t step) const {
    const config::Duration& every = *spec_.save_freq;
    if (every.unit == config::Duration::Unit::kSeconds) return now_seconds() - last_time_ >= every.value;
    const std::int64_t per_epoch = control.steps_per_epoch(), steps = every.steps(per_epoch, control.global_batch());
    if (every.counts_steps()) return step - last_step_ >= steps;
    const double last = last_epochs_ ? *last_epochs_ * static_cast<double>(per_epoch) : static_cast<double>(last_step_);
    return std::llround(control.batches(step) - last) >= steps;
  }

  /// Reverts a save that failed, so that it is neither the best nor one of the last max_to_keep.
  void drop_failed_saves(TrainingControl& control) {
    if (!attempt_ || control.is_saved(attempt_->file)) return attempt_.reset();
    best_ = attempt_->best_before;
    written_ = attempt_->written_before;
    attempt_.reset();
  }

  void save(TrainingControl& control, const experiment::Logs& logs, std::int64_t epoch, std::int64_t batch) {
    drop_failed_saves(control);
    const std::optional<double> best_before = best_;
    std::string note;
    if (spec_.save_best_only) {
      const double* const value = logs.find(monitor_);
      if (value == nullptr) return;  // an epoch without validation
      if (!improved(*value, best_, is_larger_better(spec_.mode, control, monitor_), 0)) return;
      best_ = *value;
      note = fmt::format("{} {}", monitor_, metric_text(*value));
    }
    const std::string file = format_filepath(spec_.filepath.value_or(default_path()), epoch, batch, logs);
    control.save(file, spec_.save_weights_only, note);
    attempt_ = {file, best_before, written_};
    keep(control, file);
  }

  std::string default_path() const {
    if (spec_.save_best_only) return "best.h5";
    if (!spec_.save_freq) return "epoch-{epoch:02d}.h5";
    return spec_.save_weights_only ? "weights.h5" : "last.h5";  // last.h5 can always be resumed
  }

  /// Keeps the last max_to_keep files of this callback; last.h5 and best.h5 are not counted.
  void keep(TrainingControl& control, const std::string& file) {
    if (file == "best.h5" || file == "last.h5") return;
    std::erase(written_, file);
    written_.push_back(file);
    while (static_cast<std::int64_t>(written_.size()) > spec_.max_to_keep) {
      control.remove_checkpoint(written_.front(), file);
      written_.pop_front();
    }
  }

  const ModelCheckpointSpec spec_;
  std::string monitor_;
  std::optional<double> best_;
  std::deque<std::string> written_;
  struct Attempt {
    std::string file;
    std::optional<double> best_before;
    std::deque<std::string> written_before;
  };
  std::optional<Attempt> attempt_;  ///< the last save until its result is known
  double last_time_ = 0;
  std::int64_t last_step_ = 0;
  std::optional<double> last_epochs_;  ///< at last_step_; older checkpoints do not have it
};

void check_monitor(const ModelCheckpointSpec& spec, experiment::CallbackCheck& check) {
  if (!spec.save_freq) return check.require_value(*spec.monitor, spec.mode == MonitorMode::kAuto);
  if (*spec.monitor != "loss")
    check.error(
        fmt::format("there is no '{}' to monitor; with save_freq there is the loss of the step alone", *spec.monitor));
}

/// A validation every N steps provides all values, the end of an epoch those of each epoch.
void check_filepath(const ModelCheckpointSpec& spec, experiment::CallbackCheck& check) {
  const std::string& pattern = *spec.filepath;
  if (!experiment::is_inside_folder(pattern))
    return check.error(
        fmt::format("filepath '{}' must be a name below the run's folder checkpoints, such as "
                    "'net-{{epoch:02d}}.h5'",
                    pattern));
  if (!pattern.ends_with(".h5"))
    return check.error(
        fmt::format("filepath '{}' must end in .h5, the format that dptrain writes and Keras opens", pattern));
  const bool at_validations = check.validates_by_steps() && spec.save_best_only && check.file().data.validation &&
                              spec.monitor.value_or("val_loss").starts_with("val_");
  experiment::Logs at_step;
  at_step.set("loss", 1);
  try {
    if (spec.save_freq)
      format_filepath(pattern, 1, 1, at_step);
    else if (at_validations)
      format_filepath(pattern, 1, 1, check.values());
    else
      format_filepath(pattern, 1, 0, check.values_of_every_epoch());
  } catch (const Error& failure) {
    check.error_without_prefix(failure.what());
  }
}

void check_checkpoint(const ModelCheckpointSpec& spec, experiment::CallbackCheck& check) {
  if (spec.save_best_only && !spec.filepath && !check.claim("checkpoints/best.h5"))
    return check.error("a second save_best_only needs its own filepath; two monitors need two names");
  if (!check.has_known_values()) return;
  if (spec.monitor && spec.save_best_only) check_monitor(spec, check);
  if (spec.filepath) check_filepath(spec, check);
}

const RegisteredCallback kModelCheckpoint =
    callback<ModelCheckpointSpec>("ModelCheckpoint")
        .doc("saves checkpoints")
        .positional(key("filepath", &ModelCheckpointSpec::filepath)
                        .doc("file in checkpoints/; {epoch:02d} and {val_loss:.2f} are replaced; default: best.h5 with "
                             "save_best_only, last.h5 with save_freq (weights.h5 with save_weights_only), else "
                             "epoch-{epoch:02d}.h5"))
        .key(key("monitor", &ModelCheckpointSpec::monitor)
                 .doc("name in the logs that decides: val_loss, val_accuracy, ...; default: val_loss, without "
                      "validation data loss"))
        .key(key("save_best_only", &ModelCheckpointSpec::save_best_only)
                 .doc("whether to save only what is better than all before"))
        .key(key("save_weights_only", &ModelCheckpointSpec::save_weights_only)
                 .doc("whether to save without the training state: Keras opens it, --resume does not"))
        .key(key("mode", &ModelCheckpointSpec::mode)
                 .doc("whether smaller or larger values are better; auto: as for the monitored metric"))
        .key(key("save_freq", &ModelCheckpointSpec::save_freq)
                 .doc("interval in steps (or without a unit), epochs, samples or time; default: every epoch"))
        .key(key("initial_value_threshold", &ModelCheckpointSpec::initial_value_threshold)
                 .doc("best value at the start"))
        .key(key("max_to_keep", &ModelCheckpointSpec::max_to_keep).at_least(1).doc("number of files that are kept"))
        .rejected_key("period", "write save_freq: N epochs")
        .check(check_checkpoint)
        .runs<ModelCheckpoint>();

}  // namespace

std::string format_filepath(const std::string& pattern, std::int64_t epoch_from_1, std::int64_t batch_from_1,
                            const experiment::Logs& logs) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    const std::size_t close = pattern.find('}', i);
    if (close == std::string::npos)
      throw Error(ErrorKind::kUsage, fmt::format("ModelCheckpoint: filepath '{}': '{{' without '}}'", pattern));
    const std::string field = pattern.substr(i + 1, close - i - 1);
    const std::size_t colon = field.find(':');
    const std::string name = field.substr(0, colon), spec = colon == std::string::npos ? "" : field.substr(colon + 1);
    if (name == "epoch") {
      out += format_value(spec, static_cast<double>(epoch_from_1), true);
    } else if (name == "batch" && batch_from_1 > 0) {
      out += format_value(spec, static_cast<double>(batch_from_1), true);
    } else if (const double* value = logs.find(name)) {
      out += format_value(spec, *value, false);
    } else {
      throw Error(ErrorKind::kUsage,
                  fmt::format("ModelCheckpoint: filepath '{}': there is no '{}'; there are epoch, {}", pattern, name,
                              logs.names()));
    }
    i = close;
  }
  return out;
}

}  // namespace dptrain::train
