#pragma once

// `--assert 'val_accuracy>=0.90'`: a condition on a metric at the end of a run. Pure functions; any thread.

#include <string>
#include <utility>
#include <vector>

#include "evaluation/verdict.h"

namespace dptrain::evaluation {

enum class Comparison { kAtLeast, kAtMost, kAbove, kBelow, kEqual, kUnequal };

struct Assertion {
  std::string text;  ///< as given
  std::string name;  ///< of the metric
  Comparison comparison = Comparison::kAtLeast;
  double bound = 0;

  /// NaN fulfils nothing but `!=`.
  bool holds(double value) const;
};

/// Throws Error{kUsage}: "--assert: expected a metric, one of >= <= > < == != and a number ...".
Assertion parse_assertion(const std::string& text);
std::vector<Assertion> parse_assertions(const std::vector<std::string>& texts);

/// Throws Error{kUsage} for a name that is not among `names`, listing them: before hours are spent.
void check_names(const std::vector<Assertion>& assertions, const std::vector<std::string>& names);
/// What each comes to: gates without an interval.
std::vector<Verdict> verdicts_of(const std::vector<Assertion>& assertions,
                                 const std::vector<std::pair<std::string, double>>& values);
/// Throws Error{kCheck} with what every one that failed says.
void require(const std::vector<Verdict>& verdicts);
/// Both.
void check(const std::vector<Assertion>& assertions, const std::vector<std::pair<std::string, double>>& values);

}  // namespace dptrain::evaluation
