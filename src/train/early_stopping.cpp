#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "train/callback.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

/// Keras 3's rule: `wait` counts epochs without improvement and is reset only by an epoch that also beats the baseline;
/// the best weights come back at the end even when training was not stopped.
class EarlyStopping final : public Callback {
 public:
  explicit EarlyStopping(const experiment::EarlyStoppingSpec& spec) : spec_(spec) {}

  std::string name() const override { return "EarlyStopping"; }

  /// A run that it has ended stays ended, unless it may be more patient now.
  void train_begin(Host& host, bool resumed) override {
    if (!resumed || !stopped_) return;
    stopped_ = wait_ >= spec_.patience;
    if (stopped_) host.stop("early_stopping");
  }

  void epoch_end(Host& host, EpochReport& report) override {
    const double* value = report.logs.find(spec_.monitor);
    if (value == nullptr) {
      log::warn(
          fmt::format("EarlyStopping: there is no '{}' to monitor; there are {}", spec_.monitor, report.logs.names()));
      return;
    }
    if (report.epoch < spec_.start_from_epoch) return;
    const bool max = wants_max(spec_.mode, spec_.monitor);
    if (spec_.restore_best_weights && weights_.empty()) keep_weights(host, report.epoch);
    ++wait_;
    if (improved(*value, best_, max, spec_.min_delta)) {
      best_ = *value;
      if (spec_.restore_best_weights) keep_weights(host, report.epoch);
      if (!spec_.baseline || improved(*value, spec_.baseline, max, spec_.min_delta)) wait_ = 0;
      return;
    }
    stopped_ = wait_ >= spec_.patience && report.epoch > 0;
    if (stopped_) host.stop("early_stopping");
  }

  void train_end(Host& host) override {
    if (weights_.empty()) return;
    host.push_weights(weights_);
    log::info(fmt::format("EarlyStopping: weights of epoch {} restored ({} {:.4f})", best_epoch_ + 1, spec_.monitor,
                          best_.value_or(0)));
  }

  nlohmann::json save() const override {
    nlohmann::json state{{"wait", wait_}, {"best_epoch", best_epoch_}, {"stopped", stopped_}};
    if (best_) state["best"] = *best_;
    return state;
  }
  void restore(const nlohmann::json& state) override {
    wait_ = saved_count(state, "wait");
    best_epoch_ = saved_count(state, "best_epoch");
    stopped_ = state.value("stopped", false);
    best_ = saved_best(state);
  }
  const std::vector<std::vector<float>>& kept_weights() const override { return weights_; }
  void restore_weights(std::vector<std::vector<float>> weights) override { weights_ = std::move(weights); }

 private:
  void keep_weights(Host& host, std::int64_t epoch) {
    weights_.clear();
    for (const graph::Weight& weight : host.pulled_model().weights) weights_.push_back(weight.values);
    best_epoch_ = epoch;
  }

  const experiment::EarlyStoppingSpec spec_;
  std::int64_t wait_ = 0;
  std::int64_t best_epoch_ = 0;
  bool stopped_ = false;
  std::optional<double> best_;
  std::vector<std::vector<float>> weights_;
};

}  // namespace

std::unique_ptr<Callback> make_early_stopping(const experiment::EarlyStoppingSpec& spec) {
  return std::make_unique<EarlyStopping>(spec);
}

}  // namespace dptrain::train
