#include <deque>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "experiment/callback_checks.h"
#include "train/callback.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

class ModelCheckpoint final : public Callback {
 public:
  explicit ModelCheckpoint(const experiment::ModelCheckpointSpec& spec)
      : spec_(spec), best_(spec.initial_value_threshold) {}

  std::string name() const override { return "ModelCheckpoint"; }
  std::string subject() const override { return spec_.filepath.value_or(default_path()); }

  void train_begin(Host& host, bool) override {
    monitor_ = spec_.monitor.value_or(host.has_validation() ? "val_loss" : "loss");
    last_time_ = now_seconds();
  }

  bool stops_at(Host& host, std::int64_t step) override {
    if (!spec_.save_freq || !due(host, step)) return false;
    last_time_ = now_seconds();
    last_step_ = step;
    return true;
  }

  void step_end(Host& host, const StepReport& report) override {
    if (!spec_.save_freq || report.step != last_step_) return;
    experiment::Logs logs;
    logs.set("loss", report.loss);
    save(host, logs, report.epoch + 1, report.batch);
  }

  void epoch_end(Host& host, EpochReport& report) override {
    if (!spec_.save_freq) save(host, report.logs, report.epoch + 1, 0);
  }

  nlohmann::json save() const override {
    nlohmann::json state{{"written", written_}, {"last_step", last_step_}};
    if (best_) state["best"] = *best_;
    return state;
  }
  void restore(const nlohmann::json& state) override {
    best_ = saved_best(state);
    written_ = state.value("written", std::deque<std::string>());
    for (const std::string& file : written_)  // which keep() removes one day
      if (!experiment::stays_inside(file) || !file.ends_with(".h5"))
        throw Error(
            ErrorKind::kCheckpoint,
            fmt::format("the checkpoint's ModelCheckpoint names '{}', which is none of a run's checkpoints", file));
    last_step_ = saved_count(state, "last_step");
  }

 private:
  /// A bare number counts batches, as in Keras.
  bool due(Host& host, std::int64_t step) const {
    if (spec_.save_freq->unit == config::Duration::Unit::kSeconds)
      return now_seconds() - last_time_ >= spec_.save_freq->value;
    return step - last_step_ >= spec_.save_freq->steps(host.steps_per_epoch(), host.global_batch());
  }

  /// What could not be written counts for nothing: neither as the best nor among the last max_to_keep.
  void forget_what_failed(Host& host) {
    if (!attempt_ || host.is_saved(attempt_->file)) return attempt_.reset();
    best_ = attempt_->best_before;
    written_ = attempt_->written_before;
    attempt_.reset();
  }

  void save(Host& host, const experiment::Logs& logs, std::int64_t epoch, std::int64_t batch) {
    forget_what_failed(host);
    const std::optional<double> best_before = best_;
    std::string note;
    if (spec_.save_best_only) {
      const double* value = logs.find(monitor_);
      if (value == nullptr) {
        log::warn(fmt::format("ModelCheckpoint: there is no '{}' to monitor (there are {}); saving anyway", monitor_,
                              logs.names()));
      } else if (!improved(*value, best_, wants_max(spec_.mode, monitor_), 0)) {
        return;
      } else {
        best_ = *value;
        note = fmt::format("{} {:.4f}", monitor_, *value);
      }
    }
    const std::string file = format_filepath(spec_.filepath.value_or(default_path()), epoch, batch, logs);
    host.save(file, spec_.save_weights_only, note);
    attempt_ = {file, best_before, written_};
    keep(host, file);
  }

  std::string default_path() const {
    if (spec_.save_best_only) return "best.h5";
    if (!spec_.save_freq) return "epoch-{epoch:02d}.h5";
    return spec_.save_weights_only ? "weights.h5" : "last.h5";  // last.h5 can always be resumed
  }

  /// The last max_to_keep files of this callback stay; last.h5 and best.h5 are not counted.
  void keep(Host& host, const std::string& file) {
    if (file == "best.h5" || file == "last.h5") return;
    std::erase(written_, file);
    written_.push_back(file);
    while (static_cast<std::int64_t>(written_.size()) > spec_.max_to_keep) {
      host.remove_checkpoint(written_.front(), file);
      written_.pop_front();
    }
  }

  const experiment::ModelCheckpointSpec spec_;
  std::string monitor_;
  std::optional<double> best_;
  std::deque<std::string> written_;
  struct Attempt {
    std::string file;
    std::optional<double> best_before;
    std::deque<std::string> written_before;
  };
  std::optional<Attempt> attempt_;  ///< the last save, until it is known how it went
  double last_time_ = 0;
  std::int64_t last_step_ = 0;
};

}  // namespace

std::unique_ptr<Callback> make_model_checkpoint(const experiment::ModelCheckpointSpec& spec) {
  return std::make_unique<ModelCheckpoint>(spec);
}

}  // namespace dptrain::train
