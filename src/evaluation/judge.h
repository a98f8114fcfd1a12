#pragma once

// Verdicts from measured values and limits. Without a confidence a gate compares the value. With one it fails only if
// the whole interval is on the wrong side of the limit. Noise alone then fails a call's gates with a probability of at
// most 1 - confidence (Holm's procedure). A gate whose interval contains the limit is not proven and does not fail.
// Pure functions; any thread.

#include <optional>
#include <string>
#include <vector>

#include "evaluation/paired.h"
#include "evaluation/verdict.h"
#include "experiment/gates_section.h"

namespace dptrain::evaluation {

/// A share of samples with its limit; samples > 0.
struct ShareGate {
  std::string name;
  double share = 0, samples = 0;
  experiment::Limit limit;
};
/// By intervals of that confidence; without one, each as judge_value().
std::vector<Verdict> judge_shares(const std::vector<ShareGate>& gates, const std::optional<double>& confidence);

/// A value that has no interval is judged as it was found; NaN fails. Of a limit with two sides there are two.
std::vector<Verdict> judge_value(const std::string& name, double found, const experiment::Limit& limit);

/// A share of right answers against a baseline's; the counts have samples.
struct DropGate {
  std::string name;  ///< "accuracy", "recall of Shirt"
  PairedCounts counts;
  experiment::LostShare limit;
  Dispersion dispersion{};
};
struct DropVerdicts {
  std::vector<Verdict> verdicts;   ///< in the order of the gates
  std::vector<std::string> notes;  ///< which drops could be found with these samples
};
/// A gate fails where the candidate has less than chance explains, and a loss of the limit cannot be ruled
/// out: its interval lies above 0 and reaches the limit.
DropVerdicts judge_drops(const std::vector<DropGate>& gates, double confidence);

}  // namespace dptrain::evaluation
