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
  std::string name;  ///< metric
  Comparison comparison = Comparison::kAtLeast;
  double bound = 0;

  /// NaN satisfies only `!=`.
  bool holds(double value) const;
};

/// Throws Error{kUsage}: "--assert: expected a metric, one of >= <= > < == != and a number ...".
Assertion parse_assertion(const std::string& text);
std::vector<Assertion> parse_assertions(const std::vector<std::string>& texts);

/// Throws Error{kUsage} for a name that is neither in `names`, which it lists, nor in `more`. Call it before the run
/// starts.
void check_names(const std::vector<Assertion>& assertions, const std::vector<std::string>& names,
                 const std::vector<std::string>& more = {});
/// Evaluates each assertion like a gate without an interval.
std::vector<Verdict> verdicts_of(const std::vector<Assertion>& assertions,
                                 const std::vector<std::pair<std::string, double>>& values);
/// Throws Error{kCheck} with the messages of all failed verdicts.
void require(const std::vector<Verdict>& verdicts);
/// verdicts_of() and require().
void check(const std::vector<Assertion>& assertions, const std::vector<std::pair<std::string, double>>& values);

}  // namespace dptrain::evaluation
