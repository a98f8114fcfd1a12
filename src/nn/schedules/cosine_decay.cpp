#include "nn/schedules/cosine_decay.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dptrain::nn {
namespace {

using Cosine = CosineDecaySpec;

std::string cosine_rule(const Cosine& spec) {
  const bool lost = spec.warmup_steps.value > 0 && !spec.warmup_target;
  return lost ? "warmup_steps needs a warmup_target" : "";
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
    schedule<Cosine>("CosineDecay")
        .key(config::key("initial_learning_rate", &Cosine::initial_learning_rate).required().at_least(0))
        .key(config::key("decay_steps", &Cosine::decay_steps).required().check(positive_steps))
        .key(config::key("alpha", &Cosine::alpha).at_least(0).at_most(1))
        .key(config::key("warmup_target", &Cosine::warmup_target).at_least(0))
        .key(config::key("warmup_steps", &Cosine::warmup_steps).check(steps_or_none))
        .rule(cosine_rule)
        .rate(cosine_decay);

}  // namespace
}  // namespace dptrain::nn
