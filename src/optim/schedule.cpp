#include "optim/schedule.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>

#include "config/json_fragment.h"
#include "core/format.h"

namespace dptrain::optim {
namespace {

using config::Duration;
using config::key;
using config::Schema;
using config::type_def;

std::string positive_steps(const Duration& duration) {
  if (duration.unit == Duration::Unit::kSeconds) return "must be in steps, epochs or samples, not in seconds";
  return duration.value > 0 ? "" : "must be > 0";
}

std::string steps_or_none(const Duration& duration) { return duration.value == 0 ? "" : positive_steps(duration); }

std::string piecewise_rule(const PiecewiseConstantDecaySpec& spec) {
  if (spec.values.size() != spec.boundaries.size() + 1)
    return fmt::format("values must be one more than boundaries, found {} and {}", spec.values.size(),
                       spec.boundaries.size());
  for (std::size_t i = 1; i < spec.boundaries.size(); ++i) {
    const Duration &before = spec.boundaries[i - 1], &after = spec.boundaries[i];
    if (before.unit == after.unit && before.value >= after.value) return "boundaries must increase";
  }
  return "";
}

std::string every_boundary(const std::vector<Duration>& boundaries) {
  for (const Duration& boundary : boundaries)
    if (const std::string complaint = positive_steps(boundary); !complaint.empty()) return complaint;
  return "";
}

config::Family make_schedules() {
  using Exponential = ExponentialDecaySpec;
  using Piecewise = PiecewiseConstantDecaySpec;
  using Polynomial = PolynomialDecaySpec;
  using Cosine = CosineDecaySpec;
  config::Family family("learning-rate schedule");
  family.add(type_def<Exponential>(
      Schema::of<Exponential>("ExponentialDecay")
          .key(key("initial_learning_rate", &Exponential::initial_learning_rate).required().at_least(0))
          .key(key("decay_steps", &Exponential::decay_steps).required().check(positive_steps))
          .key(key("decay_rate", &Exponential::decay_rate).required().above(0))
          .key(key("staircase", &Exponential::staircase))));
  family.add(type_def<Piecewise>(Schema::of<Piecewise>("PiecewiseConstantDecay")
                                     .key(key("boundaries", &Piecewise::boundaries).required().check(every_boundary))
                                     .key(key("values", &Piecewise::values).required().at_least(0))
                                     .rule<Piecewise>(piecewise_rule)));
  family.add(type_def<Polynomial>(
      Schema::of<Polynomial>("PolynomialDecay")
          .key(key("initial_learning_rate", &Polynomial::initial_learning_rate).required().at_least(0))
          .key(key("decay_steps", &Polynomial::decay_steps).required().check(positive_steps))
          .key(key("end_learning_rate", &Polynomial::end_learning_rate).at_least(0))
          .key(key("power", &Polynomial::power).above(0))
          .key(key("cycle", &Polynomial::cycle))));
  family.add(
      type_def<Cosine>(Schema::of<Cosine>("CosineDecay")
                           .key(key("initial_learning_rate", &Cosine::initial_learning_rate).required().at_least(0))
                           .key(key("decay_steps", &Cosine::decay_steps).required().check(positive_steps))
                           .key(key("alpha", &Cosine::alpha).at_least(0).at_most(1))
                           .key(key("warmup_target", &Cosine::warmup_target).at_least(0))
                           .key(key("warmup_steps", &Cosine::warmup_steps).check(steps_or_none))
                           .rule<Cosine>([](const Cosine& spec) {
                             const bool lost = spec.warmup_steps.value > 0 && !spec.warmup_target;
                             return std::string(lost ? "warmup_steps needs a warmup_target" : "");
                           })));
  return family;
}

double exponential(const ExponentialDecaySpec& spec, double steps, double s) {
  const double exponent = spec.staircase ? std::floor(s / steps) : s / steps;
  return spec.initial_learning_rate * std::pow(spec.decay_rate, exponent);
}

double polynomial(const PolynomialDecaySpec& spec, double steps, double s) {
  if (spec.cycle) {
    steps *= s == 0 ? 1 : std::ceil(s / steps);
  } else {
    s = std::min(s, steps);
  }
  const double range = spec.initial_learning_rate - spec.end_learning_rate;
  return range * std::pow(1 - s / steps, spec.power) + spec.end_learning_rate;
}

double cosine(const CosineDecaySpec& spec, double steps, double warmup, double s) {
  double base = spec.initial_learning_rate;
  if (spec.warmup_target) {
    if (s < warmup) return base + (*spec.warmup_target - base) * s / warmup;
    s -= warmup;
    base = *spec.warmup_target;
  }
  const double wave = 0.5 * (1 + std::cos(std::numbers::pi * std::min(s, steps) / steps));
  return base * ((1 - spec.alpha) * wave + spec.alpha);
}

}  // namespace

config::Family& schedule_family() {
  static config::Family family = make_schedules();
  return family;
}

Rate make_rate(const LearningRate& rate, std::int64_t steps_per_epoch, std::int64_t global_batch) {
  // Half an epoch of one step is no step at all; a decay needs one.
  const auto steps = [&](const Duration& d) {
    return static_cast<double>(std::max<std::int64_t>(1, d.steps(steps_per_epoch, global_batch)));
  };
  if (const auto* spec = rate.schedule.get_if<ExponentialDecaySpec>())
    return [spec = *spec, n = steps(spec->decay_steps)](std::int64_t s) {
      return exponential(spec, n, static_cast<double>(s));
    };
  if (const auto* spec = rate.schedule.get_if<PolynomialDecaySpec>())
    return [spec = *spec, n = steps(spec->decay_steps)](std::int64_t s) {
      return polynomial(spec, n, static_cast<double>(s));
    };
  if (const auto* spec = rate.schedule.get_if<CosineDecaySpec>()) {
    const double warmup = spec->warmup_steps.value > 0 ? steps(spec->warmup_steps) : 0;
    return [spec = *spec, n = steps(spec->decay_steps), warmup](std::int64_t s) {
      return cosine(spec, n, warmup, static_cast<double>(s));
    };
  }
  if (const auto* spec = rate.schedule.get_if<PiecewiseConstantDecaySpec>()) {
    std::vector<double> boundaries;
    for (const Duration& boundary : spec->boundaries) boundaries.push_back(steps(boundary));
    return [boundaries, values = spec->values](std::int64_t s) {
      // A step equal to a boundary still has the value before it.
      const auto passed = std::lower_bound(boundaries.begin(), boundaries.end(), static_cast<double>(s));
      return values[static_cast<std::size_t>(passed - boundaries.begin())];
    };
  }
  return [constant = rate.constant](std::int64_t) { return constant; };
}

}  // namespace dptrain::optim

namespace dptrain::config {

bool Value<optim::LearningRate>::read(const Node& raw, Reader& reader, optim::LearningRate& out) {
  const Node node = reader.substituted(raw);
  const bool name =
      node.is_scalar() && !node.str().empty() && std::isalpha(static_cast<unsigned char>(node.str()[0])) != 0;
  if (node.is_map() || name) {
    out.schedule = optim::schedule_family().read(node, reader);
    return static_cast<bool>(out.schedule);
  }
  const auto number = reader.number(node);
  if (number) out = {*number, {}};
  return number.has_value();
}

Node Value<optim::LearningRate>::write(const optim::LearningRate& rate) {
  return rate.is_schedule() ? rate.schedule.write() : Value<double>::write(rate.constant);
}

Node Value<optim::LearningRate>::schema() {
  return fragment::any_of({Value<double>::schema(), optim::schedule_family().json_schema()});
}

}  // namespace dptrain::config
