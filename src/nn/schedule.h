#pragma once

// Learning-rate schedules (Keras's equations: docs/reference/numerics.md). nn/schedules.cpp contains the equation of
// each and the `schedule<Spec>(...)` expression that registers it. The family is filled before main and read-only
// afterwards: any thread may read it. Durations are converted once, by the number of steps per epoch.

#include <cstdint>
#include <functional>
#include <string>

#include "config/type_builder.h"

namespace dptrain::nn {

config::Family& schedule_family();

/// A number, or a schedule of the family: `1e-3`, `CosineDecay: {...}`.
struct LearningRate {
  double constant = 0.001;
  config::Typed schedule;  ///< empty: constant
  bool is_schedule() const { return static_cast<bool>(schedule); }
};

/// The progress of training. Both counts are equal unless a run was resumed with another global batch.
struct Progress {
  /// Updates of the optimizer, Keras's `iterations` before the increment. Durations in steps count these.
  double updates = 0;
  /// Consumed samples in batches of the present size. Durations in epochs or samples count these.
  double batches = 0;

  static Progress at_step(std::int64_t step) { return {static_cast<double>(step), static_cast<double>(step)}; }
  Progress after(double steps) const { return {updates + steps, batches + steps}; }
};

/// A duration, measured in one of the counts of Progress.
struct Period {
  double steps = 0;
  bool counts_updates = true;
  double elapsed(const Progress& progress) const { return counts_updates ? progress.updates : progress.batches; }
  /// Progress counted from the end of this period on, at least 0.
  Progress since_end(const Progress& progress) const;
};

/// The learning rate of the next update. Pure.
using Rate = std::function<double(const Progress& progress)>;

/// The constants that convert durations.
struct Epoch {
  std::int64_t steps = 0, global_batch = 0;
  /// At least 1 step: half an epoch of one step has no step, and a decay needs one.
  Period period(const config::Duration& duration) const;
};

struct ScheduleType final : config::TypeDef {
  std::function<Rate(const void* spec, const Epoch& epoch)> rate;
};

Rate make_rate(const LearningRate& rate, std::int64_t steps_per_epoch, std::int64_t global_batch);

/// Check of a key that is a learning rate.
std::string rate_error(const LearningRate& rate);
/// Checks of a key that is a duration: positive, or with steps_or_none() also zero.
std::string positive_steps(const config::Duration& duration);
std::string steps_or_none(const config::Duration& duration);

/// Builder, one expression per schedule. Converting it to RegisteredSchedule registers it:
///   const RegisteredSchedule kCosineDecay = schedule<CosineDecaySpec>("CosineDecay").key(...).rate(cosine_decay);
template <class Spec>
class ScheduleBuilder : public config::TypeBuilder<ScheduleBuilder<Spec>, Spec, ScheduleType> {
  using Base = config::TypeBuilder<ScheduleBuilder<Spec>, Spec, ScheduleType>;

 public:
  using Base::Base;

  /// The equation: a function of Progress, with all durations converted.
  ScheduleBuilder&& rate(Rate (*of)(const Spec&, const Epoch&)) {
    return this->type_->rate = this->untyped(of), this->self();
  }
};

template <class Spec>
ScheduleBuilder<Spec> schedule(const std::string& name) {
  return ScheduleBuilder<Spec>(name);
}

using RegisteredSchedule = config::Registration<schedule_family>;

}  // namespace dptrain::nn

namespace dptrain::config {
DPTRAIN_CONFIG_VALUE(nn::LearningRate);
}  // namespace dptrain::config
