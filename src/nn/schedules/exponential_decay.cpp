#include "nn/schedules/exponential_decay.h"

#include <cmath>

namespace dptrain::nn {
namespace {

using Exponential = ExponentialDecaySpec;

Rate exponential_decay(const Exponential& spec, const Epoch& epoch) {
  return [spec, decay = epoch.period(spec.decay_steps)](const Progress& progress) {
    const double decays = decay.elapsed(progress) / decay.steps;
    return spec.initial_learning_rate * std::pow(spec.decay_rate, spec.staircase ? std::floor(decays) : decays);
  };
}

const RegisteredSchedule kExponentialDecay =
    schedule<Exponential>("ExponentialDecay")
        .key(config::key("initial_learning_rate", &Exponential::initial_learning_rate).required().at_least(0))
        .key(config::key("decay_steps", &Exponential::decay_steps).required().check(positive_steps))
        .key(config::key("decay_rate", &Exponential::decay_rate).required().above(0))
        .key(config::key("staircase", &Exponential::staircase))
        .rate(exponential_decay);

}  // namespace
}  // namespace dptrain::nn
