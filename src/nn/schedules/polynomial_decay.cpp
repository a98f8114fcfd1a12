#include "nn/schedules/polynomial_decay.h"

#include <algorithm>
#include <cmath>

namespace dptrain::nn {
namespace {

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
    schedule<Polynomial>("PolynomialDecay")
        .key(config::key("initial_learning_rate", &Polynomial::initial_learning_rate).required().at_least(0))
        .key(config::key("decay_steps", &Polynomial::decay_steps).required().check(positive_steps))
        .key(config::key("end_learning_rate", &Polynomial::end_learning_rate).at_least(0))
        .key(config::key("power", &Polynomial::power).above(0))
        .key(config::key("cycle", &Polynomial::cycle))
        .rate(polynomial_decay);

}  // namespace
}  // namespace dptrain::nn
