#include "optim/schedules/warmup.h"

namespace dptrain::optim {
namespace {

Rate warmup(const WarmupSpec& spec, const Epoch& epoch) {
  const double steps = epoch.steps_in(spec.warmup_steps), from = spec.initial_learning_rate;
  return [steps, from, then = make_rate(spec.then, epoch.steps, epoch.global_batch)](std::int64_t step) {
    const auto s = static_cast<double>(step);
    return s < steps ? from + (then(0) - from) * s / steps : then(step - static_cast<std::int64_t>(steps));
  };
}

const RegisteredSchedule kWarmup =
    schedule<WarmupSpec>("Warmup")
        .key(config::key("initial_learning_rate", &WarmupSpec::initial_learning_rate).at_least(0))
        .key(config::key("warmup_steps", &WarmupSpec::warmup_steps).required().check(positive_steps))
        .key(config::key("then", &WarmupSpec::then).required().check(rate_complaint))
        .rate(warmup);

}  // namespace
}  // namespace dptrain::optim
