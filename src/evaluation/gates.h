#pragma once

// Gates: limits from the section `gates` of a config or from a separate file, checked against the results of an
// evaluation. Verdicts are printed and written as gates.json, JUnit XML and GitHub annotations; a failed gate gives
// exit code 7. Main thread of the writing process.

#include <optional>
#include <string>
#include <vector>

#include "evaluation/answers.h"
#include "evaluation/evaluation_files.h"
#include "evaluation/evaluation_result.h"
#include "evaluation/gate_checks.h"

namespace dptrain::evaluation {

struct GateOptions {
  std::optional<std::string> file, junit;
  bool annotations = false;
};

class Gates {
 public:
  /// Reads the gates from --gates, else from the config; there are none without `has_evaluation`. `data_set`: the one
  /// to evaluate. Checks that the folders of the baseline and of other runs exist, and for speed.of_baseline that their
  /// eval.json has a speed. Throws Error{kUsage}, Error{kData}.
  Gates(const GateOptions& flags, const experiment::Experiment& experiment, const std::string& data_set,
        bool has_evaluation = true);

  bool present() const { return section_.has_value(); }
  /// Call before the evaluation. Throws Error{kUsage} for unknown metrics and classes, and for limits of classes if no
  /// output has classes.
  void check(const plan::Plan& plan, const std::vector<Classes>& classes) const;
  /// Requires present(). Throws Error{kData} if a baseline was evaluated on other samples.
  std::vector<Verdict> verdicts(const EvaluatedModel& evaluated, const plan::Plan& plan, std::int64_t parameters);
  /// The failed verdict of a completed run whose evaluation was stopped or failed.
  std::vector<Verdict> verdicts_without_evaluation() const;
  /// For a run that ended early: marks the gates as skipped ("passed": null in gates.json, skipped in the JUnit XML).
  void mark_skipped() { skipped_ = true; }
  /// Writes verdicts, also those of --assert, as JUnit XML and annotations if requested; with gates also prints them
  /// and writes gates.json into `folder`. Throws Error{kCheck} if one failed.
  void conclude(const std::vector<Verdict>& verdicts, const experiment::Experiment& experiment,
                const std::string& folder) const;

 private:
  struct Run {
    config::Path folder;
    bool of_baseline = false;
    std::vector<std::pair<std::string, SavedAnswers>> answers{};  ///< by output
  };

  std::vector<Verdict> check_limits(const EvaluatedModel& evaluated, const plan::Plan& plan);
  std::vector<Verdict> compare_with_baseline(const EvaluatedModel& evaluated);
  std::vector<Verdict> check_speed_and_size(const EvaluatedModel& evaluated, std::int64_t parameters) const;
  const SavedAnswers& saved_answers(Run& run, const std::string& output) const;
  double baseline_speed() const;

  const GateOptions flags_;
  std::optional<experiment::GatesSection> section_;
  std::string set_;  ///< part of file names; "" for default_set()
  std::vector<Run> runs_;
  std::vector<std::string> notes_;
  bool skipped_ = false;
};

}  // namespace dptrain::evaluation
