#pragma once

// Evaluates a model on a data set: metrics, confusion matrices, class scores, and the samples with the largest loss.
// Shared by eval, fit and report. Main thread; called in all processes of the session.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/answers.h"
#include "evaluation/class_scores.h"
#include "evaluation/classes.h"
#include "evaluation/worst_samples.h"
#include "plan/plan.h"
#include "train/progress.h"

namespace dptrain::session {
class Session;
}

namespace dptrain::evaluation {

/// Results for one output of the model that has a loss.
struct OutputResult {
  std::string name;  ///< "" if the model has one output
  Classes classes;
  std::optional<Confusion> confusion{};  ///< absent, like the scores, without classes
  std::vector<ClassScore> scores{};
  std::vector<WorstSample> worst{};                 ///< the largest loss first
  std::map<std::int64_t, SampleMaps> worst_maps{};  ///< of all in `worst` if classes.map(), by WorstSample::index
  std::optional<std::vector<Answer>> answers{};     ///< for every sample, if classes.one_per_sample()
  std::vector<ValueAnswer> value_answers{};         ///< for the chosen samples of a regression with few values
  std::size_t values = 0;                           ///< number of values in each of them
};

struct EvaluationResult {
  std::string on;                                        ///< "validation"
  std::int64_t samples = 0;                              ///< number of measured samples
  double samples_per_second = 0;                         ///< speed of the measuring pass
  std::vector<std::pair<std::string, double>> values{};  ///< "loss" first, then metrics
  std::vector<OutputResult> outputs{};                   ///< in the order of the plan's losses
};

/// Evaluates the weights in the session's replicas on its open data set `on`. `classes`: one for each output of the
/// model. Calls `should_continue` after each batch. If it returns false in any process, all stop a few batches later
/// and return nothing.
std::optional<EvaluationResult> evaluate(session::Session& session, const std::vector<Classes>& classes,
                                         const std::string& on, train::ProgressMode progress,
                                         const std::function<bool()>& should_continue);

// The values of an evaluation result that --assert and gates may name. Pure functions.

/// Losses, metrics and, with classes, the averages of named_scores(). `classes`: one for each output.
std::vector<std::string> result_names(const plan::Plan& plan, const std::vector<Classes>& classes);
/// The result_names() with their values. An undefined average is NaN; a metric of the same name takes precedence.
std::vector<std::pair<std::string, double>> result_values(const EvaluationResult& evaluation_result);
/// "recall of road" or, if the output has a name, "kind: recall of road", and so on for all scores of all classes.
std::vector<std::string> class_score_names(const plan::Plan& plan, const std::vector<Classes>& classes);
/// The class_score_names() with their values, NaN if undefined.
std::vector<std::pair<std::string, double>> class_score_values(const EvaluationResult& evaluation_result);
/// Names of the metrics whose value is the proportion of samples that are right.
std::vector<std::string> sample_shares(const plan::Plan& plan);

}  // namespace dptrain::evaluation
