#pragma once

// What a model is worth on a data set: metrics, confusions, scores of classes, and the samples it does worst on. What
// eval, fit and report share. Main thread; all processes of the session together.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/answers.h"
#include "cli/class_scores.h"
#include "cli/classes.h"
#include "cli/worst_samples.h"
#include "plan/plan.h"
#include "session/session.h"
#include "train/progress.h"

namespace dptrain::cli {

/// Of one output of the model that has a loss.
struct OutputJudgement {
  std::string name;  ///< "" where the model has one
  Classes classes;
  std::optional<Confusion> confusion{};  ///< present if classes.known(), as are the scores
  std::vector<ClassScore> scores{};
  std::vector<WorstSample> worst{};              ///< the largest loss first
  std::optional<std::vector<Answer>> answers{};  ///< to every sample, where classes.one_per_sample()
  std::vector<ValueAnswer> value_answers{};      ///< to the chosen samples, of a regression of few values
  std::size_t values = 0;                        ///< of each of these
};

struct Judgement {
  std::string on;                                        ///< "validation"
  std::int64_t samples = 0;                              ///< whose values these are
  double samples_per_second = 0;                         ///< of the pass that measures them
  std::vector<std::pair<std::string, double>> values{};  ///< "loss" first, then metrics
  std::vector<OutputJudgement> outputs{};                ///< in the order of the plan's losses
};

/// Judges the weights in the session's replicas on its data set `on`, which is open. `classes`: of all outputs of the
/// model. `go_on` is asked after each batch; where one of several processes says no, all stop a few batches later.
/// Nothing then.
std::optional<Judgement> judge(session::Session& session, const std::vector<Classes>& classes, const std::string& on,
                               train::ProgressMode progress, const std::function<bool()>& go_on);

// The values of a judgement that --assert and gates may name. Pure functions.

/// Losses and metrics, and of outputs of classes the averages "precision", "recall" and "f1" over their classes.
/// `classes`: of all outputs of the model.
std::vector<std::string> judged_names(const plan::Plan& plan, const std::vector<Classes>& classes);
/// The same with their values. An average that is undefined is NaN; a metric of that name goes before it.
std::vector<std::pair<std::string, double>> judged_values(const Judgement& judgement);
/// Those names whose value is a share of all samples, each right or wrong.
std::vector<std::string> sample_shares(const plan::Plan& plan);

}  // namespace dptrain::cli
