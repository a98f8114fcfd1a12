#include "train/callbacks/reduce_lr_on_plateau.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "train/callback_def.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

class ReduceLROnPlateau final : public Callback {
 public:
  explicit ReduceLROnPlateau(const ReduceLROnPlateauSpec& spec) : spec_(spec) {}

  std::string name() const override { return "ReduceLROnPlateau"; }

  void train_begin(TrainingControl& control, bool) override {
    if (control.has_schedule())
      throw Error(ErrorKind::kUsage,
                  "ReduceLROnPlateau needs a plain learning_rate, found a schedule; remove one of the two");
  }

  void epoch_end(TrainingControl& control, EpochReport& report) override {
    report.logs.set("learning_rate", control.learning_rate());
    if (!is_compared_at_validation(control, spec_.monitor)) observe(control, report.logs, report.epoch);
  }
  void validation_end(TrainingControl& control, const ValidationReport& report) override {
    if (is_compared_at_validation(control, spec_.monitor)) observe(control, report.logs, report.epoch);
  }

  nlohmann::json save() const override {
    nlohmann::json state{{"wait", wait_}, {"cooldown", cooldown_}};
    if (best_) state["best"] = *best_;
    return state;
  }
  void restore(const nlohmann::json& state) override {
    wait_ = saved_count(state, "wait");
    cooldown_ = saved_count(state, "cooldown");
    best_ = saved_best(state);
  }

 private:
  void observe(TrainingControl& control, const experiment::Logs& logs, std::int64_t epoch) {
    const double* const value = logs.find(spec_.monitor);  // null in an epoch without validation
    if (value == nullptr) return;
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (improved(*value, best_, is_larger_better(spec_.mode, control, spec_.monitor), spec_.min_delta)) {
      best_ = *value;
      wait_ = 0;
    } else if (cooldown_ <= 0 && ++wait_ >= spec_.patience) {
      reduce(control, epoch);
    }
  }

  void reduce(TrainingControl& control, std::int64_t epoch) {
    const double old = control.learning_rate();
    if (!(old > spec_.min_lr)) return;
    const double rate = std::max(old * spec_.factor, spec_.min_lr);
    control.set_learning_rate(rate);
    cooldown_ = spec_.cooldown;
    wait_ = 0;
    log::info(fmt::format("ReduceLROnPlateau: epoch {}: learning rate {:.4g} -> {:.4g}", epoch + 1, old, rate));
  }

  const ReduceLROnPlateauSpec spec_;
  std::int64_t wait_ = 0, cooldown_ = 0;
  std::optional<double> best_;
};

void check_plateau(const ReduceLROnPlateauSpec& spec, experiment::CallbackCheck& check) {
  if (check.has_schedule())
    return check.error_without_prefix(
        "ReduceLROnPlateau needs a plain learning_rate, found a schedule; remove one of the two");
  check.add_value("learning_rate");
  check.require_value(spec.monitor, spec.mode == MonitorMode::kAuto);
}

const RegisteredCallback kReduceLROnPlateau =
    callback<ReduceLROnPlateauSpec>("ReduceLROnPlateau")
        .doc("reduces the learning rate if the monitored value does not improve")
        .positional(key("monitor", &ReduceLROnPlateauSpec::monitor)
                        .doc("name in the logs that decides: val_loss, val_accuracy, ..."))
        .key(key("factor", &ReduceLROnPlateauSpec::factor).above(0).below(1).doc("factor of the learning rate"))
        .key(key("patience", &ReduceLROnPlateauSpec::patience)
                 .at_least(0)
                 .doc("epochs without improvement before the rate is reduced"))
        .key(key("mode", &ReduceLROnPlateauSpec::mode)
                 .doc("whether smaller or larger values are better; auto: as for the monitored metric"))
        .key(key("min_delta", &ReduceLROnPlateauSpec::min_delta).doc("a smaller change is no improvement"))
        .key(key("cooldown", &ReduceLROnPlateauSpec::cooldown)
                 .at_least(0)
                 .doc("epochs to wait after the rate was reduced"))
        .key(key("min_lr", &ReduceLROnPlateauSpec::min_lr).at_least(0).doc("smallest rate"))
        .check(check_plateau)
        .runs<ReduceLROnPlateau>();

}  // namespace
}  // namespace dptrain::train
