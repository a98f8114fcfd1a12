#pragma once

// The verdict of a gate, and verdicts as a table, JUnit XML and GitHub annotations. Pure functions; any thread.

#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "evaluation/statistics.h"

namespace dptrain::evaluation {

struct Verdict {
  std::string gate;                    ///< "accuracy", "recall of Shirt", "drop of Shirt"
  double found = 0;                    ///< NaN: it could not be measured
  std::optional<Interval> interval{};  ///< decides the verdict; none: `found` decides
  std::string limit{};                 ///< ">= 0.9"
  bool failed = false;
  bool proven = true;     ///< false: the interval contains the limit, and the gate does not fail
  std::string message{};  ///< of a failed gate: a sentence without a location
  config::Mark place{};   ///< location of the limit; unknown for a flag
};

/// "0.8271", "1555630": integers with all digits, other values with six.
std::string number_text(double value);
bool any_failed(const std::vector<Verdict>& verdicts);
/// "ok", "FAILED" or "not proven".
std::string word_of(const Verdict& verdict);
/// Aligned columns "gate found interval limit verdict", without a line break at the end.
std::string table_of(const std::vector<Verdict>& verdicts);
/// One testsuite named `suite` with a testcase for each gate: passed, failed, or skipped if it is not proven. A
/// non-empty `skip_reason` adds a skipped testcase with the reason why the gates were not checked.
std::string junit_of(const std::vector<Verdict>& verdicts, const std::string& suite,
                     const std::string& skip_reason = "");
/// A line `::error file=F,line=N,title=gate::message` for each failed gate; without a location, `::error title=...`.
std::vector<std::string> annotations_of(const std::vector<Verdict>& verdicts);

}  // namespace dptrain::evaluation
