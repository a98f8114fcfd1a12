#include "nn/schedules/cosine_decay_restarts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dptrain::nn {
namespace {

using Restarts = CosineDecayRestartsSpec;

/// The decay that a time falls into, and how much of it is over: in [0, 1).
struct Decay {
  double number = 0, over = 0;
};

/// `time` in first decays. Decay i takes t_mul^i of them, so it begins at (t_mul^i - 1) / (t_mul - 1).
Decay decay_at(double time, double t_mul) {
  if (t_mul == 1) return {std::floor(time), time - std::floor(time)};
  const auto begin = [&](double i) { return (std::pow(t_mul, i) - 1) / (t_mul - 1); };
  double i = std::max(0.0, std::floor(std::log1p(time * (t_mul - 1)) / std::log(t_mul)));
  while (i > 0 && time < begin(i)) --i;  // a logarithm that rounding has carried over the border
  while (time >= begin(i + 1)) ++i;
  return {i, (time - begin(i)) / std::pow(t_mul, i)};
}

Rate cosine_decay_restarts(const Restarts& spec, const Epoch& epoch) {
  return [spec, first = epoch.period(spec.first_decay_steps)](const Progress& progress) {
    const Decay decay = decay_at(first.elapsed(progress) / first.steps, spec.t_mul);
    const double wave = 0.5 * std::pow(spec.m_mul, decay.number) * (1 + std::cos(std::numbers::pi * decay.over));
    return spec.initial_learning_rate * ((1 - spec.alpha) * wave + spec.alpha);
  };
}

const RegisteredSchedule kCosineDecayRestarts =
    schedule<Restarts>("CosineDecayRestarts")
        .key(config::key("initial_learning_rate", &Restarts::initial_learning_rate).required().at_least(0))
        .key(config::key("first_decay_steps", &Restarts::first_decay_steps).required().check(positive_steps))
        .key(config::key("t_mul", &Restarts::t_mul).at_least(1))
        .key(config::key("m_mul", &Restarts::m_mul).above(0))
        .key(config::key("alpha", &Restarts::alpha).at_least(0).at_most(1))
        .rate(cosine_decay_restarts);

}  // namespace
}  // namespace dptrain::nn
