#include "evaluation/paired_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evaluation/statistics.h"

namespace dptrain::evaluation {
namespace {

/// With more samples on which runs differ, the normal distribution is accurate enough.
constexpr std::int64_t kMaxExact = 100;
/// Lower bound of a class's factor before its logarithm is taken, relative to the pooled factor.
constexpr double kMinOfPooled = 0.01;

double share_of(const std::vector<std::int64_t>& right, std::int64_t samples) {
  const auto sum = static_cast<double>(std::accumulate(right.begin(), right.end(), std::int64_t{0}));
  return sum / static_cast<double>(right.size()) / static_cast<double>(samples);
}

/// The sum over samples of (r/R) (1 - r/R).
double split_sum(const PairedCounts& counts) {
  const std::vector<std::int64_t>& samples_by_correct_runs = counts.samples_by_correct_runs();
  const double runs = static_cast<double>(samples_by_correct_runs.size() - 1);
  double sum = 0;
  for (std::size_t r = 0; r < samples_by_correct_runs.size(); ++r) {
    const double share = static_cast<double>(r) / runs;
    sum += static_cast<double>(samples_by_correct_runs[r]) * share * (1 - share);
  }
  return sum;
}

/// The sum of squared deviations from the mean.
double squares(const std::vector<std::int64_t>& values) {
  double mean = 0, sum = 0;
  for (const std::int64_t value : values) mean += static_cast<double>(value) / static_cast<double>(values.size());
  for (const std::int64_t value : values)
    sum += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  return sum;
}

double choose(int n, int k) { return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)); }

/// The variance factor estimated from one group alone.
struct Spread {
  double factor = 1, freedom = 0;
  double expected = 0;  ///< sum of squares if samples were independent; 0: all runs agree
};

Spread spread_of(const PairedCounts& counts) {
  const double all = counts.baseline_runs() + counts.runs();
  Spread spread{.factor = 1, .freedom = all - 2};
  spread.expected = spread.freedom * split_sum(counts) * all / (all - 1);
  if (spread.expected > 0)
    spread.factor = (squares(counts.baseline_right()) + squares(counts.right())) / spread.expected;
  return spread;
}

/// Prior of the classes' factors; `freedom` is its weight in degrees of freedom.
struct Prior {
  double factor = 1, freedom = std::numeric_limits<double>::infinity();
};

/// Smyth's estimate from the mean and variance of the logarithms; infinite freedom if chance alone explains their
/// scatter. Few classes give an unreliable freedom, and too large a freedom fails gates by noise, so it is halved.
Prior prior_of(const std::vector<Spread>& spreads, double pooled) {
  std::vector<double> logs;
  double mean = 0, variance = 0;
  for (const Spread& spread : spreads) {
    if (spread.expected <= 0) continue;
    const double half = spread.freedom / 2;
    const double factor = std::max(spread.factor, kMinOfPooled * pooled);  // equal counts would give log(0)
    logs.push_back(std::log(factor) - digamma(half) + std::log(half));
  }
  if (logs.size() < 2 || pooled <= 0) return {.factor = pooled};
  const auto n = static_cast<double>(logs.size());
  for (const double one : logs) mean += one / n;
  for (const double one : logs) variance += (one - mean) * (one - mean) / (n - 1);
  const double excess = variance - trigamma(spreads.front().freedom / 2);
  if (excess <= 0) return {.factor = pooled};
  const double half = trigamma_inverse(excess);
  return {.factor = std::exp(mean + digamma(half) - std::log(half)), .freedom = half};  // half of Smyth's
}

/// P(the candidate's runs together have at most `right` correct answers); each sample's number is hypergeometric.
double exact_p(const PairedCounts& counts, std::int64_t right) {
  const int all = counts.baseline_runs() + counts.runs(), runs = counts.runs();
  std::vector<double> distribution{1};  // by the number of correct answers above the minimum
  for (int r = 1; r < all; ++r) {
    const int least = std::max(0, r - counts.baseline_runs()), most = std::min(r, runs);
    std::vector<double> one;
    for (int k = least; k <= most; ++k) one.push_back(choose(runs, k) * choose(all - runs, r - k) / choose(all, r));
    const std::int64_t samples = counts.samples_by_correct_runs()[static_cast<std::size_t>(r)];
    right -= samples * least;
    for (std::int64_t i = 0; i < samples; ++i) {
      std::vector<double> next(distribution.size() + one.size() - 1);
      for (std::size_t a = 0; a < distribution.size(); ++a)
        for (std::size_t b = 0; b < one.size(); ++b) next[a + b] += distribution[a] * one[b];
      distribution = std::move(next);
    }
  }
  right -= counts.samples_by_correct_runs().back() * runs;
  double p = 0;
  for (std::size_t a = 0; a < distribution.size() && static_cast<std::int64_t>(a) <= right; ++a) p += distribution[a];
  return std::min(1.0, p);
}

}  // namespace

void PairedCounts::add(const std::vector<char>& right, std::int64_t samples) {
  std::size_t all = 0;
  for (std::size_t run = 0; run < right.size(); ++run) {
    if (right[run] == 0) continue;
    ++all;
    const bool of_baseline = run < baseline_right_.size();
    (of_baseline ? baseline_right_[run] : right_[run - baseline_right_.size()]) += samples;
  }
  samples_by_correct_runs_[all] += samples;
  samples_ += samples;
}

void PairedCounts::add(const PairedCounts& other) {
  const auto sum = [](std::vector<std::int64_t>& mine, const std::vector<std::int64_t>& theirs) {
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += theirs[i];
  };
  sum(baseline_right_, other.baseline_right_);
  sum(right_, other.right_);
  sum(samples_by_correct_runs_, other.samples_by_correct_runs_);
  samples_ += other.samples_;
}

double PairedCounts::baseline_share() const { return share_of(baseline_right_, samples_); }
double PairedCounts::share() const { return share_of(right_, samples_); }

double PairedCounts::disagreement() const {
  const double runs = static_cast<double>(samples_by_correct_runs_.size() - 1);
  return 2 * split_sum(*this) * runs / (runs - 1) / static_cast<double>(samples_);
}

Dispersion dispersion(const PairedCounts& counts) {
  const Spread spread = spread_of(counts);
  return {.factor = std::max(1.0, spread.factor), .freedom = spread.freedom};
}

std::vector<Dispersion> dispersions(const std::vector<PairedCounts>& classes) {
  std::vector<Spread> spreads;
  double found = 0, expected = 0, freedom = 0;
  for (const PairedCounts& one : classes) {
    const Spread& spread = spreads.emplace_back(spread_of(one));
    found += spread.factor * spread.expected;
    expected += spread.expected;
    freedom += spread.expected > 0 ? spread.freedom : 0;
  }
  const double pooled = expected > 0 ? found / expected : 1;
  const Prior prior = prior_of(spreads, pooled);
  std::vector<Dispersion> out;
  for (const Spread& spread : spreads) {
    Dispersion one{.factor = pooled, .freedom = freedom};
    if (!std::isinf(prior.freedom) && spread.expected > 0) {
      one.freedom = prior.freedom + spread.freedom;
      one.factor = (prior.freedom * prior.factor + spread.freedom * spread.factor) / one.freedom;
      one.freedom = std::min(one.freedom, freedom);
    }
    one.factor = std::max(1.0, one.factor);
    out.push_back(one);
  }
  return out;
}

Drop drop_of(const PairedCounts& counts, const Dispersion& dispersion) {
  const double baseline_runs = counts.baseline_runs(), runs = counts.runs(), all = baseline_runs + runs;
  const std::int64_t right = std::accumulate(counts.right().begin(), counts.right().end(), std::int64_t{0});
  double mean = 0;
  std::int64_t split = 0;
  for (std::size_t r = 0; r < counts.samples_by_correct_runs().size(); ++r) {
    const std::int64_t samples = counts.samples_by_correct_runs()[r];
    mean += static_cast<double>(samples) * runs * static_cast<double>(r) / all;
    if (r > 0 && r + 1 < counts.samples_by_correct_runs().size()) split += samples;
  }
  const double variance = dispersion.factor * split_sum(counts) * runs * baseline_runs / (all - 1);

  Drop drop{.found = counts.baseline_share() - counts.share()};
  drop.freedom = dispersion.freedom;
  drop.deviation = std::sqrt(variance) * (1 / baseline_runs + 1 / runs) / static_cast<double>(counts.samples());
  if (split == 0) return drop;
  const double z = (mean - static_cast<double>(right) - 0.5) / std::sqrt(variance);  // 0.5: continuity correction
  if (drop.freedom > 0)
    drop.p = student_tail(z, drop.freedom);
  else
    drop.p = split <= kMaxExact ? exact_p(counts, right) : normal_tail(z);
  return drop;
}

double Drop::quantile(double level) const {
  return freedom > 0 ? student_quantile(1 - level, freedom) : normal_quantile(1 - level);
}

double Drop::detectable(double level, double power) const {
  return (quantile(level) + normal_quantile(power)) * deviation;
}

}  // namespace dptrain::evaluation
