#include "nn/metrics/f1_score.h"

#include <numeric>

#include "nn/metrics/threshold_counts.h"

namespace dptrain::nn {
namespace {

constexpr double kF1Epsilon = 1e-7;  // keras.backend.epsilon()

std::string f1_fits(const MetricSubject& subject) {
  if (subject.output.rank() == 1) return "";
  return fmt::format("needs one row of values per sample, but output {} is {}", subject.name, subject.output.str());
}

/// One threshold per class: what counts as positive is bucket 1.
std::size_t f1_state(const F1ScoreSpec&, const MetricSubject& subject) {
  return threshold_state(static_cast<std::size_t>(subject.classes()), 1);
}

std::size_t f1_count(const F1ScoreSpec& spec, const MetricSubject& subject) {
  return spec.average ? 1 : static_cast<std::size_t>(subject.classes());
}

double f1_of(const Confusion& c) {
  const double precision = c.true_positives / (c.true_positives + c.false_positives + kF1Epsilon);
  const double recall = c.true_positives / (c.true_positives + c.false_negatives + kF1Epsilon);
  return 2 * (precision * recall / (precision + recall + kF1Epsilon));
}

std::vector<double> f1_values(const F1ScoreSpec& spec, const MetricSums& sums) {
  const std::size_t group = threshold_state(1, 1);
  std::vector<double> scores, positives;
  Confusion all;
  for (std::size_t at = 0; at < sums.state.size(); at += group) {
    const Confusion c = confusions(sums.state.subspan(at, group)).front();
    scores.push_back(f1_of(c));
    positives.push_back(c.true_positives + c.false_negatives);
    all.true_positives += c.true_positives;
    all.false_positives += c.false_positives;
    all.false_negatives += c.false_negatives;
  }
  if (!spec.average) return scores;
  if (*spec.average == ClassAverage::kMicro) return {f1_of(all)};
  if (*spec.average == ClassAverage::kMacro)
    return {std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size())};
  const double whole = std::accumulate(positives.begin(), positives.end(), 0.0) + kF1Epsilon;
  return {std::inner_product(scores.begin(), scores.end(), positives.begin(), 0.0) / whole};
}

const RegisteredMetric kF1Score = metric<F1ScoreSpec>("F1Score", {"f1_score"})
                                      .key(key("average", &F1ScoreSpec::average))
                                      .key(key("threshold", &F1ScoreSpec::threshold).above(0).at_most(1))
                                      .reads(MetricReads::kValues)
                                      .larger_is_better()
                                      .fits(f1_fits)
                                      .state(f1_state)
                                      .values(f1_count, f1_values);

}  // namespace
}  // namespace dptrain::nn
