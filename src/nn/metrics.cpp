#include "nn/metrics.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "core/format.h"

namespace dptrain::nn {
namespace {

/// A mean of differences; `mean`: its name in the text.
template <class Spec>
MetricBuilder<Spec> error_metric(const char* name, std::vector<std::string> aliases, const std::string& mean) {
  return metric<Spec>(name, std::move(aliases))
      .doc(mean + " difference of prediction and label")
      .smaller_is_better()
      .fits(compares_values);
}

const RegisteredMetric kMeanAbsoluteErrorMetric = error_metric<MeanAbsoluteErrorMetricSpec>(
    "MeanAbsoluteError", {"mean_absolute_error", "mae", "MAE"}, "mean absolute");
const RegisteredMetric kMeanSquaredErrorMetric =
    error_metric<MeanSquaredErrorMetricSpec>("MeanSquaredError", {"mean_squared_error", "mse", "MSE"}, "mean squared");
const RegisteredMetric kRootMeanSquaredError =
    error_metric<RootMeanSquaredErrorSpec>("RootMeanSquaredError", {"root_mean_squared_error"},
                                           "root of the mean squared")
        .value([](const RootMeanSquaredErrorSpec&, const MetricSums& sums) {
          return std::sqrt(sums.state[0] / sums.weight);
        });

std::string r2_mismatch(const MetricSubject& subject) {
  const std::string mismatch = has_one_row(subject);
  return mismatch.empty() ? compares_values(subject) : mismatch;
}

/// For each value of the output: sum y, sum y^2, sum (y - p)^2.
std::size_t r2_state(const R2ScoreSpec&, const MetricSubject& subject) {
  return 3 * static_cast<std::size_t>(subject.classes());
}

std::size_t r2_count(const R2ScoreSpec& spec, const MetricSubject& subject) {
  return spec.class_aggregation ? 1 : static_cast<std::size_t>(subject.classes());
}

std::vector<double> r2_values(const R2ScoreSpec& spec, const MetricSums& sums) {
  std::vector<double> scores, spreads;
  const double samples = sums.weight;
  for (std::size_t at = 0; at < sums.state.size(); at += 3) {
    const double sum = sums.state[at], squares = sums.state[at + 1], residual = sums.state[at + 2];
    const double spread = squares - sum * sum / samples, score = 1 - residual / spread;
    spreads.push_back(spread);
    scores.push_back(std::isinf(score) ? 0 : score);
  }
  if (spec.class_aggregation == ScoreAggregation::kUniform)
    scores = {std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size())};
  else if (spec.class_aggregation == ScoreAggregation::kVarianceWeighted)
    scores = {std::inner_product(scores.begin(), scores.end(), spreads.begin(), 0.0) /
              std::accumulate(spreads.begin(), spreads.end(), 0.0)};
  const double values = samples * static_cast<double>(spreads.size());
  const double regressors = static_cast<double>(spec.num_regressors);
  if (spec.num_regressors > 0 && regressors < values - 1)
    for (double& score : scores) score = 1 - (1 - score) * (values - 1) / (values - regressors - 1);
  return scores;
}

const RegisteredMetric kR2Score =
    metric<R2ScoreSpec>("R2Score", {"r2_score"})
        .doc("share of the variance of the labels that the predictions explain")
        .key(key("class_aggregation", &R2ScoreSpec::class_aggregation)
                 .doc("uniform_average, variance_weighted_average, or null: a score per value"))
        .key(key("num_regressors", &R2ScoreSpec::num_regressors)
                 .at_least(0)
                 .doc("number of regressors that the score is adjusted for; 0: none"))
        .larger_is_better()
        .fits(r2_mismatch)
        .state(r2_state)
        .values(r2_count, r2_values);

std::string accuracy_mismatch(const MetricSubject& subject) {
  return subject.classes() == 1 ? compares_values(subject) : ranks_classes(subject);
}

const RegisteredMetric kAccuracy =
    metric<AccuracySpec>("Accuracy", {"accuracy", "acc"})
        .doc("`BinaryAccuracy` for an output whose last extent is 1, else `CategoricalAccuracy`")
        .reads(MetricReads::kThreshold)
        .share()
        .larger_is_better()
        .fits(accuracy_mismatch);

const RegisteredMetric kBinaryAccuracy =
    metric<BinaryAccuracySpec>("BinaryAccuracy", {"binary_accuracy"})
        .doc("share of values that are right; predictions above `threshold` count as 1, others as 0")
        .key(key("threshold", &BinaryAccuracySpec::threshold).doc("larger predictions count as 1"))
        .reads(MetricReads::kThreshold)
        .share_of_single_values()
        .larger_is_better()
        .fits(compares_values);

/// The share of rows whose label's class has one of the largest values.
template <class Spec>
MetricBuilder<Spec> row_accuracy(const char* name, const char* alias, const char* text) {
  return metric<Spec>(name, {alias})
      .doc(text)
      .reads(MetricReads::kOrder)
      .share()
      .larger_is_better()
      .fits(ranks_classes);
}

const RegisteredMetric kCategoricalAccuracy = row_accuracy<CategoricalAccuracySpec>(
    "CategoricalAccuracy", "categorical_accuracy", "share of rows whose largest value is at the label's class");
const RegisteredMetric kSparseCategoricalAccuracy =
    row_accuracy<SparseCategoricalAccuracySpec>("SparseCategoricalAccuracy", "sparse_categorical_accuracy",
                                                "`CategoricalAccuracy` for labels that are class numbers");

template <class Spec>
MetricBuilder<Spec> top_k_accuracy(const char* name, const char* alias, const char* text) {
  return row_accuracy<Spec>(name, alias, text)
      .key(key("k", &Spec::k).at_least(1).doc("number of largest values among which the label's class must be"))
      .example("k: 2")
      .fits([](const Spec& spec, const MetricSubject& subject) {
        if (spec.k > subject.classes())
          return fmt::format("k = {} of an output of {} classes would count every sample; give a smaller k", spec.k,
                             subject.classes());
        return ranks_classes(subject);
      });
}

const RegisteredMetric kTopKCategoricalAccuracy = top_k_accuracy<TopKCategoricalAccuracySpec>(
    "TopKCategoricalAccuracy", "top_k_categorical_accuracy",
    "share of rows in which the label's class is among the `k` largest values");
const RegisteredMetric kSparseTopKCategoricalAccuracy = top_k_accuracy<SparseTopKCategoricalAccuracySpec>(
    "SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy",
    "`TopKCategoricalAccuracy` for labels that are class numbers");

}  // namespace
}  // namespace dptrain::nn
