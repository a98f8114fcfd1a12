#pragma once

// Learning-rate schedules (Keras's equations: docs/numerics.md). Each has a file pair in optim/schedules/: the .h holds
// its spec, the .cpp its equation and one `schedule<Spec>(...)` expression that registers it. The family is filled
// before main and read-only afterwards: any thread may read it. Durations are turned into steps once, when the number
// of steps per epoch is known.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/family.h"

namespace dptrain::optim {

config::Family& schedule_family();

/// A number, or a schedule of the family: `1e-3`, `CosineDecay: {...}`.
struct LearningRate {
  double constant = 0.001;
  config::Typed schedule;  ///< empty: constant
  bool is_schedule() const { return static_cast<bool>(schedule); }
};

/// The rate at an optimizer step, counted from 0 (Keras evaluates at `iterations` before the increment). Pure.
using Rate = std::function<double(std::int64_t step)>;

/// What turns durations into steps.
struct Epoch {
  std::int64_t steps = 0, global_batch = 0;
  /// At least 1: half an epoch of one step is no step at all, and a decay needs one.
  double steps_in(const config::Duration& duration) const;
};

struct ScheduleType final : config::TypeDef {
  std::function<Rate(const void* spec, const Epoch& epoch)> rate;
};

Rate make_rate(const LearningRate& rate, std::int64_t steps_per_epoch, std::int64_t global_batch);

/// Check of a key that is a learning rate.
std::string rate_complaint(const LearningRate& rate);
/// Checks of a key that is a duration: a time, or, with the second, none.
std::string positive_steps(const config::Duration& duration);
std::string steps_or_none(const config::Duration& duration);

/// Builder, one expression per schedule. Converting it to RegisteredSchedule registers it:
///   const RegisteredSchedule kCosineDecay = schedule<CosineDecaySpec>("CosineDecay").key(...).rate(cosine_decay);
template <class Spec>
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(const std::string& name) : type_(std::make_unique<ScheduleType>()) {
    type_->name = name;
    type_->type = typeid(Spec);
    type_->schema = config::Schema::of<Spec>(name);
  }

  template <class T>
  ScheduleBuilder&& key(const config::Key<Spec, T>& k) && {
    type_->schema.key(k);
    return std::move(*this);
  }
  /// Over several keys: "" or the message.
  ScheduleBuilder&& rule(std::string (*complaint)(const Spec&)) && {
    config::Schema ruled = std::move(type_->schema).template rule<Spec>(complaint);
    type_->schema = std::move(ruled);
    return std::move(*this);
  }
  /// The equation: of a step s, with all durations in steps.
  ScheduleBuilder&& rate(Rate (*of)(const Spec&, const Epoch&)) && {
    type_->rate = [of](const void* spec, const Epoch& epoch) { return of(*static_cast<const Spec*>(spec), epoch); };
    return std::move(*this);
  }

  std::unique_ptr<ScheduleType> build() && { return std::move(type_); }

 private:
  std::unique_ptr<ScheduleType> type_;
};

template <class Spec>
ScheduleBuilder<Spec> schedule(const std::string& name) {
  return ScheduleBuilder<Spec>(name);
}

/// A static object of this type puts a schedule into the family before main.
struct RegisteredSchedule {
  template <class Spec>
  RegisteredSchedule(ScheduleBuilder<Spec>&& builder) {  // NOLINT(google-explicit-constructor)
    schedule_family().add_by_name(std::unique_ptr<config::TypeDef>(std::move(builder).build()));
  }
};

}  // namespace dptrain::optim

namespace dptrain::config {
template <>
struct Value<optim::LearningRate> {
  static bool read(const Node&, Reader&, optim::LearningRate& out);
  static Node write(const optim::LearningRate&);
  static Node schema();
};
}  // namespace dptrain::config
