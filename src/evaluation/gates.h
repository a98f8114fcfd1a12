#pragma once

// Gates at work: the section `gates` of a config or a file of its own, judged on what an evaluation found, and what
// becomes of the verdicts: a table, gates.json, JUnit's XML, annotations, exit code 7. Main thread of the process that
// writes.

#include <optional>
#include <string>
#include <vector>

#include "evaluation/answers.h"
#include "evaluation/judge.h"
#include "evaluation/judgement.h"
#include "evaluation/judgement_files.h"

namespace dptrain::evaluation {

struct GateOptions {
  std::optional<std::string> file, junit;
  bool annotations = false;
};

class Gates {
 public:
  /// --gates, else what the config says, which may be nothing; nothing without `judged`. `on`: the data set that will
  /// be judged. Looks for the folders of a baseline. Throws Error{kUsage}, Error{kData}.
  Gates(const GateOptions& flags, const experiment::Experiment& experiment, const std::string& on, bool judged = true);

  bool present() const { return section_.has_value(); }
  /// Before time is spent: throws Error{kUsage} for metrics and classes that there are not, and for limits of classes
  /// where no output tells classes apart.
  void check(const plan::Plan& plan, const std::vector<Classes>& classes) const;
  /// Only where present(). Throws Error{kData} where a baseline was judged on other samples.
  std::vector<Verdict> judge(const Judged& judged, const plan::Plan& plan, std::int64_t parameters);
  /// Of a run that ended well and could not be judged.
  std::vector<Verdict> not_judged() const;
  /// Of a run that was ended early: gates.json and JUnit's XML say that nothing was judged.
  void leave_unjudged() { unjudged_ = true; }
  /// Says and writes them, gates.json into `folder`, and throws Error{kCheck} where one failed. What --assert asks for
  /// may be among them.
  void conclude(const std::vector<Verdict>& verdicts, const experiment::Experiment& experiment,
                const std::string& folder) const;

 private:
  struct Run {
    config::Path folder;
    bool of_baseline = false;
    std::vector<std::pair<std::string, KeptAnswers>> answers{};  ///< by output
  };

  std::vector<Verdict> judge_limits(const Judged& judged, const plan::Plan& plan);
  std::vector<Verdict> judge_against_baseline(const Judged& judged);
  std::vector<Verdict> judge_speed_and_size(const Judged& judged, std::int64_t parameters) const;
  const KeptAnswers& kept(Run& run, const std::string& output) const;
  double baseline_speed() const;

  const GateOptions flags_;
  std::optional<experiment::GatesSection> section_;
  std::string set_;  ///< in the names of files: "" for the usual one
  std::vector<Run> runs_;
  std::vector<std::string> notes_;
  bool unjudged_ = false;
};

}  // namespace dptrain::evaluation
