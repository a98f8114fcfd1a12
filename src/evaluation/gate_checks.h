#pragma once

// Verdicts from measured values and limits. Without a confidence a gate compares the value. With one it fails only if
// the whole interval is on the wrong side of the limit. Noise alone then fails any of a call's gates with a probability
// of at most 1 - confidence (Holm's procedure). A gate whose interval contains the limit is not proven and does not
// fail. Pure functions; any thread.

#include <optional>
#include <string>
#include <vector>

#include "evaluation/paired_comparison.h"
#include "evaluation/verdict.h"
#include "experiment/gates_section.h"

namespace dptrain::evaluation {

/// A proportion of samples with its limit; samples > 0.
struct ShareGate {
  std::string name;
  double share = 0, samples = 0;
  experiment::Limit limit;
};
/// Checks gates by intervals of that confidence; without one, each as check_limit().
std::vector<Verdict> check_share_gates(const std::vector<ShareGate>& gates, const std::optional<double>& confidence);

/// Checks a value without an interval; NaN fails. A limit with two sides gives two verdicts.
std::vector<Verdict> check_limit(const std::string& name, double found, const experiment::Limit& limit);

/// A proportion of correct answers compared with a baseline's; requires counts of at least one sample.
struct DropGate {
  std::string name;  ///< "accuracy", "recall of Shirt"
  PairedCounts counts;
  experiment::AccuracyDropLimit limit;
  Dispersion dispersion{};
};
struct DropVerdicts {
  std::vector<Verdict> verdicts;   ///< in the order of the gates
  std::vector<std::string> notes;  ///< the drop that these samples can detect
};
/// A gate fails if the candidate is worse than chance explains and a loss of the limit cannot be ruled out: its
/// interval is above 0 and reaches the limit.
DropVerdicts check_drop_gates(const std::vector<DropGate>& gates, double confidence);

}  // namespace dptrain::evaluation
