#include "nn/schedules/inverse_time_decay.h"

#include <cmath>

namespace dptrain::nn {
namespace {

using Inverse = InverseTimeDecaySpec;

Rate inverse_time_decay(const Inverse& spec, const Epoch& epoch) {
  return [spec, decay = epoch.period(spec.decay_steps)](const Progress& progress) {
    const double decays = decay.elapsed(progress) / decay.steps;
    return spec.initial_learning_rate / (1 + spec.decay_rate * (spec.staircase ? std::floor(decays) : decays));
  };
}

const RegisteredSchedule kInverseTimeDecay =
    schedule<Inverse>("InverseTimeDecay")
        .key(config::key("initial_learning_rate", &Inverse::initial_learning_rate).required().at_least(0))
        .key(config::key("decay_steps", &Inverse::decay_steps).required().check(positive_steps))
        .key(config::key("decay_rate", &Inverse::decay_rate).required().at_least(0))
        .key(config::key("staircase", &Inverse::staircase))
        .rate(inverse_time_decay);

}  // namespace
}  // namespace dptrain::nn
