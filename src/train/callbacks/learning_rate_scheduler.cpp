#include "train/callbacks/learning_rate_scheduler.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "config/expression.h"
#include "core/error.h"
#include "core/format.h"
#include "train/callback_def.h"

namespace dptrain::train {
namespace {

/// Keras calls `schedule(epoch, lr)` before each epoch and logs the rate at its end.
class LearningRateScheduler final : public Callback {
 public:
  explicit LearningRateScheduler(const LearningRateSchedulerSpec& spec) : spec_(spec) {}

  std::string name() const override { return "LearningRateScheduler"; }

  void epoch_begin(TrainingControl& control, std::int64_t epoch) override {
    const double factor = control.rate_factor();
    const double old = control.learning_rate() / factor;
    const double rate = scheduled_rate(spec_, epoch, old).value_or(old);
    if (!(rate >= 0))
      throw Error(
          ErrorKind::kUsage,
          fmt::format("LearningRateScheduler: schedule '{}' gives {} for epoch {} and lr {:.6g}; a learning rate "
                      "is a number >= 0",
                      spec_.schedule, std::isnan(rate) ? "no number" : fmt::format("{:.6g}", rate), epoch, old));
    if (rate != old) control.set_learning_rate(rate * factor);
  }

  void epoch_end(TrainingControl& control, EpochReport& report) override {
    report.logs.set("learning_rate", control.learning_rate());
  }

 private:
  const LearningRateSchedulerSpec spec_;
};

std::string schedule_problem(const std::string& schedule) {
  if (scheduled_rate({schedule}, 0, 1)) return "";
  return "must be an expression of epoch (counted from 0) and lr, such as 'lr * 0.9 if epoch > 3 else lr'";
}

void check_schedule(const LearningRateSchedulerSpec&, experiment::CallbackCheck& check) {
  if (check.has_schedule())
    return check.error_without_prefix(
        "LearningRateScheduler needs a plain learning_rate, found a schedule; remove one of the two");
  check.add_value("learning_rate");
}

const RegisteredCallback kLearningRateScheduler =
    callback<LearningRateSchedulerSpec>("LearningRateScheduler")
        .doc("sets the learning rate of each epoch by an expression")
        .positional(key("schedule", &LearningRateSchedulerSpec::schedule)
                        .required()
                        .check(schedule_problem)
                        .doc("an expression of epoch, counted from 0, and lr: 'lr * 0.9 if epoch > 3 else lr'"))
        .check(check_schedule)
        .runs<LearningRateScheduler>();

}  // namespace

std::optional<double> scheduled_rate(const LearningRateSchedulerSpec& spec, std::int64_t epoch, double rate) {
  const std::array<std::pair<std::string_view, double>, 2> names{std::pair{"epoch", static_cast<double>(epoch)},
                                                                 {"lr", rate}};
  return config::evaluate(spec.schedule, names);
}

}  // namespace dptrain::train
