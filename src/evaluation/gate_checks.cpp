#include "evaluation/gate_checks.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::evaluation {
namespace {

/// Power of the test for which a note gives the detectable drop.
constexpr double kPower = 0.95;

struct Side {
  std::size_t gate;
  bool at_most;
  double limit;
};

std::string limit_text(bool at_most, double limit) {
  return fmt::format("{} {}", at_most ? "<=" : ">=", number_text(limit));
}

std::vector<Side> sides_of(const experiment::Limit& limit, std::size_t gate) {
  std::vector<Side> sides;
  if (limit.at_least) sides.push_back({gate, false, *limit.at_least});
  if (limit.at_most) sides.push_back({gate, true, *limit.at_most});
  return sides;
}

double right_of(const ShareGate& gate) { return gate.share * gate.samples; }

/// The detectable drop of a gate, and the samples or runs needed to detect its limit.
std::string note_of(const DropGate& gate, const Drop& drop, double level) {
  const double detectable = drop.detectable(level, kPower);
  const PairedCounts& counts = gate.counts;
  const bool of_models = drop.freedom == 0;
  std::string note = fmt::format("{}: with {} samples, of which two runs answer {:.1f} % differently, ", gate.name,
                                 with_commas(counts.samples()), 100 * counts.disagreement());
  if (!of_models)
    note += fmt::format(
        "and {} against {}, between which right answers vary {:.1f} times as much as sample by "
        "sample, ",
        counted(counts.runs(), "run"), counts.baseline_runs(), gate.dispersion.factor);
  note += fmt::format("a drop of {:.4f} is detected with a probability of {:.0f} %", detectable, 100 * kPower);
  if (detectable <= gate.limit.value) return note;
  // models need more samples, trainings need more runs; with many runs the quantile is nearly normal
  const double needed = gate.limit.value / (normal_quantile(1 - level) + normal_quantile(kPower));
  const double times = (drop.deviation / needed) * (drop.deviation / needed);
  note += fmt::format("; a drop of {} needs ", shortest(gate.limit.value));
  if (of_models)
    return note +
           fmt::format("about {} samples", with_commas(std::llround(times * static_cast<double>(counts.samples()))));
  const double runs = std::ceil(2 * times / (1.0 / counts.runs() + 1.0 / counts.baseline_runs()));
  return note +
         fmt::format("about {:.0f} runs against {:.0f}, or a training that varies less between seeds", runs, runs);
}

}  // namespace

std::vector<Verdict> check_share_gates(const std::vector<ShareGate>& gates, const std::optional<double>& confidence) {
  std::vector<Verdict> verdicts;
  if (!confidence) {
    for (const ShareGate& gate : gates)
      std::ranges::move(check_limit(gate.name, gate.share, gate.limit), std::back_inserter(verdicts));
    return verdicts;
  }
  std::vector<Side> sides;
  for (std::size_t i = 0; i < gates.size(); ++i)
    for (const Side& side : sides_of(gates[i].limit, i)) sides.push_back(side);
  std::vector<double> p;
  for (const Side& side : sides)
    p.push_back(wilson_p(right_of(gates[side.gate]), gates[side.gate].samples, side.limit, side.at_most));
  const std::vector<double> levels = holm_levels(p, 1 - *confidence);

  for (std::size_t i = 0; i < sides.size(); ++i) {
    const ShareGate& gate = gates[sides[i].gate];
    Verdict verdict{.gate = gate.name, .found = gate.share};
    verdict.limit = limit_text(sides[i].at_most, sides[i].limit);
    verdict.interval = wilson(right_of(gate), gate.samples, 1 - levels[i]);
    verdict.place = gate.limit.mark;
    verdict.failed = p[i] <= levels[i];
    verdict.proven = verdict.failed || (sides[i].at_most ? verdict.interval->high <= sides[i].limit
                                                         : verdict.interval->low >= sides[i].limit);
    if (verdict.failed)
      verdict.message = fmt::format(
          "{} is {:.4f} of {} samples, at the required confidence no {} than {:.4f}; the limit is {} {}", gate.name,
          verdict.found, with_commas(std::llround(gate.samples)), sides[i].at_most ? "less" : "more",
          sides[i].at_most ? verdict.interval->low : verdict.interval->high, sides[i].at_most ? "at most" : "at least",
          shortest(sides[i].limit));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<Verdict> check_limit(const std::string& name, double found, const experiment::Limit& limit) {
  std::vector<Verdict> verdicts;
  for (const Side& side : sides_of(limit, 0)) {
    Verdict verdict{.gate = name, .found = found, .limit = limit_text(side.at_most, side.limit)};
    verdict.place = limit.mark;
    verdict.failed = !(side.at_most ? found <= side.limit : found >= side.limit);
    if (verdict.failed)
      verdict.message = fmt::format("{} is {}; the limit is {} {}", name, number_text(found),
                                    side.at_most ? "at most" : "at least", number_text(side.limit));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

DropVerdicts check_drop_gates(const std::vector<DropGate>& gates, double confidence) {
  const double alpha = 1 - confidence;
  std::vector<Drop> drops;
  std::vector<double> p;
  for (const DropGate& gate : gates) {
    drops.push_back(drop_of(gate.counts, gate.dispersion));
    p.push_back(drops.back().p);
  }
  const std::vector<double> levels = holm_levels(p, alpha);

  DropVerdicts out;
  std::size_t dimmest = 0;
  const double first_level = alpha / static_cast<double>(std::max<std::size_t>(1, gates.size()));
  const auto lacks = [&](std::size_t i) { return drops[i].detectable(first_level, kPower) / gates[i].limit.value; };
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const Drop& drop = drops[i];
    Verdict verdict{.gate = "drop of " + gates[i].name, .found = drop.found};
    verdict.limit = "< " + shortest(gates[i].limit.value);
    verdict.interval = Interval{drop.low(levels[i]), drop.high(alpha)};
    verdict.place = gates[i].limit.mark;
    verdict.failed = p[i] <= levels[i] && verdict.interval->high >= gates[i].limit.value;
    verdict.proven = verdict.failed || verdict.interval->high < gates[i].limit.value;
    if (verdict.failed)
      verdict.message = fmt::format(
          "{} is {:.4f}, {:.4f} less than the baseline's {:.4f}; p = {:.2g} for chance alone, at most the level "
          "{:.2g}; the limit is a drop of {}",
          gates[i].name, gates[i].counts.share(), drop.found, gates[i].counts.baseline_share(), drop.p, levels[i],
          shortest(gates[i].limit.value));
    out.verdicts.push_back(std::move(verdict));
    if (lacks(i) > lacks(dimmest)) dimmest = i;
  }
  if (!gates.empty()) out.notes.push_back(note_of(gates[dimmest], drops[dimmest], first_level));
  return out;
}

}  // namespace dptrain::evaluation
