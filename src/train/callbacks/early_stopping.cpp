#include "train/callbacks/early_stopping.h"

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "train/callback_def.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

/// The rule of Keras 3: `wait` counts epochs (or validations every N steps) without improvement, and only an epoch that
/// also beats the baseline resets it. restore_best_weights also applies if training was not stopped.
class EarlyStopping final : public Callback {
 public:
  explicit EarlyStopping(const EarlyStoppingSpec& spec) : spec_(spec) {}

  std::string name() const override { return "EarlyStopping"; }

  /// A run that was stopped early stays stopped unless patience has grown.
  void train_begin(TrainingControl& control, bool resumed) override {
    if (!resumed || !stopped_) return;
    stopped_ = wait_ >= spec_.patience;
    if (stopped_) control.stop("early_stopping");
  }

  void epoch_end(TrainingControl& control, EpochReport& report) override {
    if (is_compared_at_validation(control, spec_.monitor)) return;
    observe(control, report.logs, {report.epoch, 0}, report.epoch > 0);
  }
  void validation_end(TrainingControl& control, const ValidationReport& report) override {
    if (!is_compared_at_validation(control, spec_.monitor)) return;
    observe(control, report.logs, {report.epoch, report.step}, validated_);
    validated_ = true;
  }

  void train_end(TrainingControl& control) override {
    if (weights_.empty()) return;
    control.push_weights(weights_);
    const std::string when =
        best_when_.step > 0 ? fmt::format("step {}", best_when_.step) : fmt::format("epoch {}", best_when_.epoch + 1);
    log::info(fmt::format("EarlyStopping: weights of {} restored ({} {})", when, spec_.monitor,
                          metric_text(best_.value_or(0))));
  }

  nlohmann::json save() const override {
    nlohmann::json state{{"wait", wait_}, {"best_epoch", best_when_.epoch}, {"stopped", stopped_}};
    if (best_when_.step > 0) state["best_step"] = best_when_.step;
    if (validated_) state["validated"] = true;
    if (best_) state["best"] = *best_;
    return state;
  }
  void restore(const nlohmann::json& state) override {
    wait_ = saved_count(state, "wait");
    best_when_ = {saved_count(state, "best_epoch"), saved_count(state, "best_step")};
    validated_ = state.value("validated", false);
    stopped_ = state.value("stopped", false);
    best_ = saved_best(state);
  }
  const std::vector<std::vector<float>>& saved_weights() const override { return weights_; }
  void restore_weights(std::vector<std::vector<float>> weights) override { weights_ = std::move(weights); }

 private:
  struct When {
    std::int64_t epoch = 0;
    std::int64_t step = 0;  ///< 0 at the end of an epoch
  };

  void observe(TrainingControl& control, const experiment::Logs& logs, When when, bool may_stop) {
    const double* const value = logs.find(spec_.monitor);  // null in an epoch without validation
    if (value == nullptr || when.epoch < spec_.start_from_epoch) return;
    const bool max = is_larger_better(spec_.mode, control, spec_.monitor);
    if (spec_.restore_best_weights && weights_.empty()) save_weights(control, when);
    ++wait_;
    if (improved(*value, best_, max, spec_.min_delta)) {
      best_ = *value;
      if (spec_.restore_best_weights) save_weights(control, when);
      if (!spec_.baseline || improved(*value, spec_.baseline, max, spec_.min_delta)) wait_ = 0;
      return;
    }
    stopped_ = wait_ >= spec_.patience && may_stop;
    if (stopped_) control.stop("early_stopping");
  }

  void save_weights(TrainingControl& control, When when) {
    weights_.clear();
    for (const graph::Weight& weight : control.pulled_model().weights) weights_.push_back(weight.values);
    best_when_ = when;
  }

  const EarlyStoppingSpec spec_;
  std::int64_t wait_ = 0;
  When best_when_;
  bool stopped_ = false, validated_ = false;
  std::optional<double> best_;
  std::vector<std::vector<float>> weights_;
};

const RegisteredCallback kEarlyStopping =
    callback<EarlyStoppingSpec>("EarlyStopping")
        .doc("stops training if the monitored value does not improve")
        .positional(key("monitor", &EarlyStoppingSpec::monitor)
                        .doc("name in the logs that decides: val_loss, val_accuracy, ..."))
        .key(key("min_delta", &EarlyStoppingSpec::min_delta).doc("a smaller change is no improvement"))
        .key(key("patience", &EarlyStoppingSpec::patience)
                 .at_least(0)
                 .doc("epochs without improvement before training stops"))
        .key(key("mode", &EarlyStoppingSpec::mode)
                 .doc("whether smaller or larger values are better; auto: as for the monitored metric"))
        .key(key("baseline", &EarlyStoppingSpec::baseline).doc("value that must be improved on"))
        .key(key("restore_best_weights", &EarlyStoppingSpec::restore_best_weights)
                 .doc("whether to end with the weights of the best epoch"))
        .key(key("start_from_epoch", &EarlyStoppingSpec::start_from_epoch)
                 .at_least(0)
                 .doc("first epoch that counts, from 0"))
        .check([](const EarlyStoppingSpec& spec, experiment::CallbackCheck& check) {
          check.require_value(spec.monitor, spec.mode == MonitorMode::kAuto);
        })
        .runs<EarlyStopping>();

}  // namespace
}  // namespace dptrain::train
