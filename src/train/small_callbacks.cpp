// TerminateOnNaN and TimeHistory.

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "train/callback.h"

namespace dptrain::train {
namespace {

class TerminateOnNaN final : public Callback {
 public:
  std::string name() const override { return "TerminateOnNaN"; }
  void step_end(Host& host, const StepReport& report) override {
    if (std::isfinite(report.loss)) return;
    log::warn(fmt::format("TerminateOnNaN: loss is {} at step {}", report.loss, report.step));
    host.stop("diverged");
  }
};

/// Total time, and of each epoch its time and images per second.
class TimeHistory final : public Callback {
 public:
  std::string name() const override { return "TimeHistory"; }

  void epoch_end(Host&, EpochReport& report) override {
    epochs_.push_back({{"seconds", report.seconds},
                       {"train_seconds", report.train_seconds},
                       {"examples_per_second", static_cast<double>(report.samples) / report.train_seconds}});
  }
  void train_end(Host&) override {
    double total = 0;
    for (const nlohmann::json& epoch : epochs_) total += epoch["seconds"].get<double>();
    log::info(fmt::format("TimeHistory: {} epochs in {:.1f} s", epochs_.size(), total));
    for (std::size_t i = 0; i < epochs_.size(); ++i)
      log::info(fmt::format("  epoch {}: {:.2f} s, {:.0f} images/s", i + 1, epochs_[i]["seconds"].get<double>(),
                            epochs_[i]["examples_per_second"].get<double>()));
  }

  nlohmann::json save() const override { return {{"epochs", epochs_}}; }
  void restore(const nlohmann::json& state) override {
    epochs_ = state.value("epochs", std::vector<nlohmann::json>());
  }

 private:
  std::vector<nlohmann::json> epochs_;
};

}  // namespace

std::unique_ptr<Callback> make_terminate_on_nan() { return std::make_unique<TerminateOnNaN>(); }
std::unique_ptr<Callback> make_time_history() { return std::make_unique<TimeHistory>(); }

}  // namespace dptrain::train
