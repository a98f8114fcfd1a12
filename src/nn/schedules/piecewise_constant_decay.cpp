#include "nn/schedules/piecewise_constant_decay.h"

#include <algorithm>

#include "core/format.h"

namespace dptrain::nn {
namespace {

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
    if (const std::string complaint = positive_steps(boundary); !complaint.empty()) return complaint;
  return "";
}

Rate piecewise_constant_decay(const Piecewise& spec, const Epoch& epoch) {
  std::vector<Period> boundaries;
  for (const Duration& boundary : spec.boundaries) boundaries.push_back(epoch.period(boundary));
  return [boundaries, values = spec.values](const Progress& progress) {
    // A step equal to a boundary still has the value before it.
    const auto next = std::ranges::find_if(
        boundaries, [&](const Period& boundary) { return boundary.elapsed(progress) <= boundary.steps; });
    return values[static_cast<std::size_t>(next - boundaries.begin())];
  };
}

const RegisteredSchedule kPiecewiseConstantDecay =
    schedule<Piecewise>("PiecewiseConstantDecay")
        .key(config::key("boundaries", &Piecewise::boundaries).required().check(every_boundary))
        .key(config::key("values", &Piecewise::values).required().at_least(0))
        .rule(piecewise_rule)
        .rate(piecewise_constant_decay);

}  // namespace
}  // namespace dptrain::nn
