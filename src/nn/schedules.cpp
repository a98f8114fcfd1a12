#include "nn/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/format.h"

namespace dptrain::nn {
namespace {

/// A schedule that begins with `initial_learning_rate`; `which`: "" or "first ", the decay whose length is `steps`.
template <class Spec, class Base>
ScheduleBuilder<Spec> decay_schedule(const char* name, config::Duration Base::*steps, const std::string& which = "") {
  auto builder = schedule<Spec>(name);
  builder
      .key(config::key("initial_learning_rate", &Spec::initial_learning_rate)
               .required()
               .at_least(0)
               .doc("rate at the start"))
      .key(config::key(which.empty() ? "decay_steps" : "first_decay_steps", steps)
               .required()
               .check(positive_steps)
               .doc("how long the " + which + "decay takes: steps, or `5 epochs`"));
  return builder;
}

using Cosine = CosineDecaySpec;

std::string cosine_rule(const Cosine& spec) {
  const bool is_lost = spec.warmup_steps.value > 0 && !spec.warmup_target;
  return is_lost ? "warmup_steps needs a warmup_target" : "";
}

double cosine(const Cosine& spec, const Period& decay, const Period& warmup, Progress progress) {
  double base = spec.initial_learning_rate;
  if (spec.warmup_target) {
    const double s = warmup.elapsed(progress);
    if (s < warmup.steps) return base + (*spec.warmup_target - base) * s / warmup.steps;
    progress = warmup.since_end(progress);
    base = *spec.warmup_target;
  }
  const double s = std::min(decay.elapsed(progress), decay.steps);
  const double wave = 0.5 * (1 + std::cos(std::numbers::pi * s / decay.steps));
  return base * ((1 - spec.alpha) * wave + spec.alpha);
}

Rate cosine_decay(const Cosine& spec, const Epoch& epoch) {
  const Period warmup = spec.warmup_steps.value > 0 ? epoch.period(spec.warmup_steps) : Period{};
  return [spec, warmup, decay = epoch.period(spec.decay_steps)](const Progress& progress) {
    return cosine(spec, decay, warmup, progress);
  };
}

const RegisteredSchedule kCosineDecay =
    decay_schedule<Cosine>("CosineDecay", &Cosine::decay_steps)
        .doc("half a cosine, down to the share `alpha` of its first rate; before it, optionally, a linear warm-up")
        .key(config::key("alpha", &Cosine::alpha)
                 .between(0, 1)
                 .doc("smallest rate, as a share of the one that the decay starts at"))
        .key(config::key("warmup_target", &Cosine::warmup_target).at_least(0).doc("rate after the warm-up"))
        .key(config::key("warmup_steps", &Cosine::warmup_steps)
                 .check(steps_or_none)
                 .doc("how long the rate rises from initial_learning_rate"))
        .rule(cosine_rule)
        .rate(cosine_decay);

/// Half a cosine from lr0 down to alpha lr0, repeatedly (Loshchilov and Hutter 2017): each time t_mul times as
/// long, from a rate m_mul times as high.
struct CosineDecayRestarts {
  double initial_learning_rate = 0;
  config::Duration first_decay_steps;
  double t_mul = 2, m_mul = 1;
  double alpha = 0;
};

/// The decay that a time falls into, and how much of it is over: in [0, 1).
struct Decay {
  double number = 0, over = 0;
};

/// `time` in first decays. Decay i takes t_mul^i of them, so it begins at (t_mul^i - 1) / (t_mul - 1).
Decay decay_at(double time, double t_mul) {
  if (t_mul == 1) return {std::floor(time), time - std::floor(time)};
  const auto begin = [&](double i) { return (std::pow(t_mul, i) - 1) / (t_mul - 1); };
  double i = std::max(0.0, std::floor(std::log1p(time * (t_mul - 1)) / std::log(t_mul)));
  while (i > 0 && time < begin(i)) --i;  // the logarithm was rounded across the border
  while (time >= begin(i + 1)) ++i;
  return {i, (time - begin(i)) / std::pow(t_mul, i)};
}

Rate cosine_decay_restarts(const CosineDecayRestarts& spec, const Epoch& epoch) {
  return [spec, first = epoch.period(spec.first_decay_steps)](const Progress& progress) {
    const Decay decay = decay_at(first.elapsed(progress) / first.steps, spec.t_mul);
    const double wave = 0.5 * std::pow(spec.m_mul, decay.number) * (1 + std::cos(std::numbers::pi * decay.over));
    return spec.initial_learning_rate * ((1 - spec.alpha) * wave + spec.alpha);
  };
}

const RegisteredSchedule kCosineDecayRestarts =
    decay_schedule<CosineDecayRestarts>("CosineDecayRestarts", &CosineDecayRestarts::first_decay_steps, "first ")
        .doc("repeated `CosineDecay`; each is `t_mul` times as long as the one before")
        .key(config::key("t_mul", &CosineDecayRestarts::t_mul)
                 .at_least(1)
                 .doc("factor of the length of each decay after the first"))
        .key(config::key("m_mul", &CosineDecayRestarts::m_mul)
                 .above(0)
                 .doc("factor of the initial rate of each decay after the first"))
        .key(config::key("alpha", &CosineDecayRestarts::alpha)
                 .between(0, 1)
                 .doc("smallest rate of each decay, as a share of initial_learning_rate"))
        .rate(cosine_decay_restarts);

struct StepDecay {
  double initial_learning_rate = 0;
  config::Duration decay_steps;
  double decay_rate = 0;
  bool staircase = false;

  /// The number of decay_steps until now; with `staircase` only whole ones count.
  double decays(const Period& decay, const Progress& progress) const {
    const double count = decay.elapsed(progress) / decay.steps;
    return staircase ? std::floor(count) : count;
  }
};

template <class Spec>
ScheduleBuilder<Spec> step_decay(const char* name, const config::Key<StepDecay, double>& rate) {
  auto builder = decay_schedule<Spec>(name, &StepDecay::decay_steps);
  builder.key(rate).key(
      config::key("staircase", &StepDecay::staircase).doc("whether the rate changes only after whole decay_steps"));
  return builder;
}

/// lr0 rate^(s / steps).
struct ExponentialDecay : StepDecay {};

Rate exponential_decay(const ExponentialDecay& spec, const Epoch& epoch) {
  return [spec, decay = epoch.period(spec.decay_steps)](const Progress& progress) {
    return spec.initial_learning_rate * std::pow(spec.decay_rate, spec.decays(decay, progress));
  };
}

const RegisteredSchedule kExponentialDecay =
    step_decay<ExponentialDecay>(
        "ExponentialDecay",
        config::key("decay_rate", &StepDecay::decay_rate).required().above(0).doc("factor after each decay_steps"))
        .doc("multiplies the rate by `decay_rate` every `decay_steps`")
        .rate(exponential_decay);

/// lr0 / (1 + rate s / steps).
struct InverseTimeDecay : StepDecay {};

Rate inverse_time_decay(const InverseTimeDecay& spec, const Epoch& epoch) {
  return [spec, decay = epoch.period(spec.decay_steps)](const Progress& progress) {
    return spec.initial_learning_rate / (1 + spec.decay_rate * spec.decays(decay, progress));
  };
}

const RegisteredSchedule kInverseTimeDecay =
    step_decay<InverseTimeDecay>("InverseTimeDecay", config::key("decay_rate", &StepDecay::decay_rate)
                                                         .required()
                                                         .at_least(0)
                                                         .doc("growth of the divisor, from 1, in each decay_steps"))
        .doc("after s steps, the initial rate divided by 1 + `decay_rate` * s / `decay_steps`")
        .rate(inverse_time_decay);

using Polynomial = PolynomialDecaySpec;

double polynomial(const Polynomial& spec, double steps, double s) {
  if (spec.cycle) {
    steps *= s == 0 ? 1 : std::ceil(s / steps);
  } else {
    s = std::min(s, steps);
  }
  const double range = spec.initial_learning_rate - spec.end_learning_rate;
  return range * std::pow(1 - s / steps, spec.power) + spec.end_learning_rate;
}

Rate polynomial_decay(const Polynomial& spec, const Epoch& epoch) {
  return [spec, decay = epoch.period(spec.decay_steps)](const Progress& progress) {
    return polynomial(spec, decay.steps, decay.elapsed(progress));
  };
}

const RegisteredSchedule kPolynomialDecay =
    decay_schedule<Polynomial>("PolynomialDecay", &Polynomial::decay_steps)
        .doc("falls to `end_learning_rate` by a power of the remaining share of `decay_steps`")
        .key(config::key("end_learning_rate", &Polynomial::end_learning_rate).at_least(0).doc("rate at the end"))
        .key(config::key("power", &Polynomial::power).above(0).doc("exponent of the decay"))
        .key(config::key("cycle", &Polynomial::cycle)
                 .doc("whether to extend decay_steps to its next multiple once it is over"))
        .rate(polynomial_decay);

using Piecewise = PiecewiseConstantDecaySpec;
using config::Duration;

std::string piecewise_rule(const Piecewise& spec) {
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
    if (const std::string error = positive_steps(boundary); !error.empty()) return error;
  return "";
}

Rate piecewise_constant_decay(const Piecewise& spec, const Epoch& epoch) {
  std::vector<Period> boundaries;
  for (const Duration& boundary : spec.boundaries) boundaries.push_back(epoch.period(boundary));
  return [boundaries, values = spec.values](const Progress& progress) {
    // A step equal to a boundary has the value before it.
    const auto next = std::ranges::find_if(
        boundaries, [&](const Period& boundary) { return boundary.elapsed(progress) <= boundary.steps; });
    return values[static_cast<std::size_t>(next - boundaries.begin())];
  };
}

const RegisteredSchedule kPiecewiseConstantDecay =
    schedule<Piecewise>("PiecewiseConstantDecay")
        .doc("constant between boundaries")
        .key(config::key("boundaries", &Piecewise::boundaries)
                 .required()
                 .check(every_boundary)
                 .doc("last step of each value but the last: steps, or `5 epochs`"))
        .key(config::key("values", &Piecewise::values).required().at_least(0).doc("rates, one more than boundaries"))
        .rule(piecewise_rule)
        .rate(piecewise_constant_decay);

Rate warmup(const WarmupSpec& spec, const Epoch& epoch) {
  return [warmup = epoch.period(spec.warmup_steps), from = spec.initial_learning_rate,
          then = make_rate(spec.then, epoch.steps, epoch.global_batch)](const Progress& progress) {
    const double s = warmup.elapsed(progress);
    return s < warmup.steps ? from + (then({}) - from) * s / warmup.steps : then(warmup.since_end(progress));
  };
}

const RegisteredSchedule kWarmup =
    schedule<WarmupSpec>("Warmup")
        .doc("linear rise to the first rate of `then`, which counts from the end of the rise; not in Keras")
        .key(config::key("initial_learning_rate", &WarmupSpec::initial_learning_rate)
                 .at_least(0)
                 .doc("rate at the start"))
        .key(config::key("warmup_steps", &WarmupSpec::warmup_steps)
                 .required()
                 .check(positive_steps)
                 .doc("how long the rate rises to where `then` begins"))
        .key(config::key("then", &WarmupSpec::then)
                 .required()
                 .check(rate_error)
                 .doc("what follows the warm-up, counted from its end: a number or a schedule"))
        .rate(warmup);

}  // namespace
}  // namespace dptrain::nn
