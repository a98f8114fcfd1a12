#pragma once

// What a gate has found, and a list of such as a table, as JUnit's XML and as annotations of GitHub. Pure functions;
// any thread.

#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "evaluation/statistics.h"

namespace dptrain::evaluation {

struct Verdict {
  std::string gate;                    ///< "accuracy", "recall of Shirt", "drop of Shirt"
  double found = 0;                    ///< NaN: it could not be measured
  std::optional<Interval> interval{};  ///< that the verdict goes by; none: it goes by what was found
  std::string limit{};                 ///< ">= 0.9"
  bool failed = false;
  bool proven = true;     ///< false: the interval contains the limit, and the gate does not fail
  std::string message{};  ///< of one that failed, a whole sentence without a place
  config::Mark place{};   ///< of the limit in its file; unknown for a flag
};

/// "0.8271", "1555630": whole numbers with all their digits, others with six.
std::string number_text(double value);
bool any_failed(const std::vector<Verdict>& verdicts);
/// "ok", "FAILED" or "not proven".
std::string word_of(const Verdict& verdict);
/// Aligned columns "gate found interval limit verdict", without a line break at the end.
std::string table_of(const std::vector<Verdict>& verdicts);
/// One testsuite named `suite`, one testcase for each gate, with a failure where it failed and skipped where it is not
/// proven; and one that was skipped where `unjudged` gives the reason why gates were not judged.
std::string junit_of(const std::vector<Verdict>& verdicts, const std::string& suite, const std::string& unjudged = "");
/// A line `::error file=F,line=N,title=gate::message` for each that failed; without a place, `::error title=...`.
std::vector<std::string> annotations_of(const std::vector<Verdict>& verdicts);

}  // namespace dptrain::evaluation
