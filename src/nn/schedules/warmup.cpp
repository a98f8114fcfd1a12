#include "nn/schedules/warmup.h"

namespace dptrain::nn {
namespace {

Rate warmup(const WarmupSpec& spec, const Epoch& epoch) {
  return [warmup = epoch.period(spec.warmup_steps), from = spec.initial_learning_rate,
          then = make_rate(spec.then, epoch.steps, epoch.global_batch)](const Progress& progress) {
    const double s = warmup.elapsed(progress);
    return s < warmup.steps ? from + (then({}) - from) * s / warmup.steps : then(warmup.since_end(progress));
  };
}

const RegisteredSchedule kWarmup =
    schedule<WarmupSpec>("Warmup")
        .key(config::key("initial_learning_rate", &WarmupSpec::initial_learning_rate).at_least(0))
        .key(config::key("warmup_steps", &WarmupSpec::warmup_steps).required().check(positive_steps))
        .key(config::key("then", &WarmupSpec::then).required().check(rate_complaint))
        .rate(warmup);

}  // namespace
}  // namespace dptrain::nn
