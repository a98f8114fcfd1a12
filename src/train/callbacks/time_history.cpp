#include "train/callbacks/time_history.h"

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "train/callback_def.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

class TimeHistory final : public Callback {
 public:
  explicit TimeHistory(const TimeHistorySpec&) {}

  std::string name() const override { return "TimeHistory"; }

  void epoch_end(TrainingControl&, EpochReport& report) override {
    ++epochs_;
    seconds_ += report.seconds;
    log::info(fmt::format("TimeHistory: epoch {}: {}, {}", report.epoch + 1, duration_text(report.seconds),
                          speed_text(report.examples_per_second())));
  }
  void train_end(TrainingControl&) override {
    log::info(fmt::format("TimeHistory: {} in {}", counted(epochs_, "epoch"), duration_text(seconds_)));
  }

  nlohmann::json save() const override { return {{"count", epochs_}, {"seconds", seconds_}}; }
  void restore(const nlohmann::json& state) override {
    epochs_ = saved_count(state, "count");
    seconds_ = state.value("seconds", 0.0);
  }

 private:
  std::int64_t epochs_ = 0;
  double seconds_ = 0;
};

const RegisteredCallback kTimeHistory =
    callback<TimeHistorySpec>("TimeHistory").doc("logs time and samples per second of each epoch").runs<TimeHistory>();

}  // namespace
}  // namespace dptrain::train
