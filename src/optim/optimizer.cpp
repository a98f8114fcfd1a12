#include "optim/optimizer.h"

#include "core/format.h"
#include "core/text.h"

namespace dptrain::optim {
namespace {

using config::key;
using config::Schema;

std::string rate_complaint(const LearningRate& rate) {
  const bool good = rate.is_schedule() || rate.constant >= 0;
  return good ? "" : fmt::format("must be >= 0, found {}", shortest(rate.constant));
}

// Member pointers of the common base are taken as those of the optimizer itself: a Key knows its owner.
template <class Spec, class T>
config::Key<Spec, T> own(const char* name, T Spec::*member) {
  return key(name, member);
}

template <class Spec>
Schema start(const std::string& name) {
  return Schema::of<Spec>(name).positional(
      own<Spec, LearningRate>("learning_rate", &Spec::learning_rate).check(rate_complaint));
}

/// The arguments that every optimizer has, after its own.
template <class Spec>
config::TypeDef finish(Schema schema, std::vector<std::string> aliases) {
  using Real = std::optional<double>;
  using Count = std::optional<std::int64_t>;
  Schema whole =
      std::move(schema)
          .key(own<Spec, Real>("weight_decay", &Spec::weight_decay).at_least(0))
          .key(own<Spec, Real>("clipnorm", &Spec::clipnorm).above(0))
          .key(own<Spec, Real>("clipvalue", &Spec::clipvalue).above(0))
          .key(own<Spec, Real>("global_clipnorm", &Spec::global_clipnorm).above(0))
          .key(own<Spec, bool>("use_ema", &Spec::use_ema))
          .key(own<Spec, double>("ema_momentum", &Spec::ema_momentum).at_least(0).at_most(1))
          .key(own<Spec, Count>("ema_overwrite_frequency", &Spec::ema_overwrite_frequency).at_least(1))
          .template rule<Spec>([](const Spec& s) {
            const int clips =
                int{s.clipnorm.has_value()} + int{s.clipvalue.has_value()} + int{s.global_clipnorm.has_value()};
            return std::string(clips <= 1 ? "" : "at most one of clipnorm, clipvalue and global_clipnorm can be given");
          });
  return config::type_def<Spec>(std::move(whole), std::move(aliases));
}

template <class Spec>
Schema adam_schema(const std::string& name) {
  return start<Spec>(name)
      .key(own<Spec, double>("beta_1", &Spec::beta_1).at_least(0).below(1))
      .key(own<Spec, double>("beta_2", &Spec::beta_2).at_least(0).below(1))
      .key(own<Spec, double>("epsilon", &Spec::epsilon).at_least(0))
      .key(own<Spec, bool>("amsgrad", &Spec::amsgrad));
}

config::Family make_optimizers() {
  config::Family family("optimizer");
  family.add(finish<SGDSpec>(start<SGDSpec>("SGD")
                                 .key(key("momentum", &SGDSpec::momentum).at_least(0).at_most(1))
                                 .key(key("nesterov", &SGDSpec::nesterov)),
                             {"sgd"}));
  family.add(finish<AdamSpec>(adam_schema<AdamSpec>("Adam"), {"adam"}));
  family.add(finish<AdamWSpec>(adam_schema<AdamWSpec>("AdamW"), {"adamw"}));
  family.add(finish<RMSpropSpec>(start<RMSpropSpec>("RMSprop")
                                     .key(key("rho", &RMSpropSpec::rho).at_least(0).at_most(1))
                                     .key(key("momentum", &RMSpropSpec::momentum).at_least(0).at_most(1))
                                     .key(key("epsilon", &RMSpropSpec::epsilon).at_least(0))
                                     .key(key("centered", &RMSpropSpec::centered)),
                                 {"rmsprop"}));
  family.add(finish<AdagradSpec>(
      start<AdagradSpec>("Adagrad")
          .key(key("initial_accumulator_value", &AdagradSpec::initial_accumulator_value).at_least(0))
          .key(key("epsilon", &AdagradSpec::epsilon).at_least(0)),
      {"adagrad"}));
  return family;
}

std::vector<SlotDef> adam_slots(const AdamSpec& adam) {
  std::vector<SlotDef> all{{"momentum"}, {"velocity"}};
  if (adam.amsgrad) all.push_back({"velocity_hat"});
  return all;
}

std::vector<SlotDef> rmsprop_slots(const RMSpropSpec& rmsprop) {
  std::vector<SlotDef> all{{"velocity"}};
  if (rmsprop.momentum > 0) all.push_back({"momentum"});
  if (rmsprop.centered) all.push_back({"average_gradient"});
  return all;
}

}  // namespace

config::Family& optimizer_family() {
  static config::Family family = make_optimizers();
  return family;
}

const OptimizerCommon& common(const config::Typed& optimizer) {
  if (const auto* sgd = optimizer.get_if<SGDSpec>()) return *sgd;
  if (const auto* adam = optimizer.get_if<AdamSpec>()) return *adam;
  if (const auto* adamw = optimizer.get_if<AdamWSpec>()) return *adamw;
  if (const auto* rmsprop = optimizer.get_if<RMSpropSpec>()) return *rmsprop;
  return optimizer.as<AdagradSpec>();
}

std::vector<SlotDef> slots(const config::Typed& optimizer) {
  if (const auto* sgd = optimizer.get_if<SGDSpec>())
    return sgd->momentum != 0 ? std::vector<SlotDef>{{"momentum"}} : std::vector<SlotDef>{};
  if (const auto* adam = optimizer.get_if<AdamSpec>()) return adam_slots(*adam);
  if (const auto* adamw = optimizer.get_if<AdamWSpec>()) return adam_slots(*adamw);
  if (const auto* rmsprop = optimizer.get_if<RMSpropSpec>()) return rmsprop_slots(*rmsprop);
  return {{"accumulator", static_cast<float>(optimizer.as<AdagradSpec>().initial_accumulator_value)}};
}

}  // namespace dptrain::optim
