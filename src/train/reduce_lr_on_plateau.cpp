#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "train/callback.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

class ReduceLROnPlateau final : public Callback {
 public:
  explicit ReduceLROnPlateau(const experiment::ReduceLROnPlateauSpec& spec) : spec_(spec) {}

  std::string name() const override { return "ReduceLROnPlateau"; }

  void train_begin(Host& host, bool) override {
    if (host.has_schedule())
      throw Error(ErrorKind::kUsage,
                  "ReduceLROnPlateau needs a plain learning_rate, found a schedule; remove one of the two");
  }

  void epoch_end(Host& host, EpochReport& report) override {
    report.logs.set("learning_rate", host.learning_rate());
    const double* value = report.logs.find(spec_.monitor);
    if (value == nullptr) {
      log::warn(fmt::format("ReduceLROnPlateau: there is no '{}' to monitor; there are {}", spec_.monitor,
                            report.logs.names()));
      return;
    }
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (improved(*value, best_, wants_max(spec_.mode, spec_.monitor), spec_.min_delta)) {
      best_ = *value;
      wait_ = 0;
    } else if (cooldown_ <= 0 && ++wait_ >= spec_.patience) {
      reduce(host, report.epoch);
    }
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
  void reduce(Host& host, std::int64_t epoch) {
    const double old = host.learning_rate();
    if (!(old > spec_.min_lr)) return;
    const double rate = std::max(old * spec_.factor, spec_.min_lr);
    host.set_learning_rate(rate);
    cooldown_ = spec_.cooldown;
    wait_ = 0;
    log::info(fmt::format("ReduceLROnPlateau: epoch {}: learning rate {:.4g} -> {:.4g}", epoch + 1, old, rate));
  }

  const experiment::ReduceLROnPlateauSpec spec_;
  std::int64_t wait_ = 0, cooldown_ = 0;
  std::optional<double> best_;
};

}  // namespace

std::unique_ptr<Callback> make_reduce_lr_on_plateau(const experiment::ReduceLROnPlateauSpec& spec) {
  return std::make_unique<ReduceLROnPlateau>(spec);
}

}  // namespace dptrain::train
