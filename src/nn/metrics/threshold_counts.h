#pragma once

// The state of metrics that count predictions above thresholds: [groups][label is zero, is not][buckets], where a
// bucket is how many of the ascending thresholds a prediction exceeds, 0..T. From it follow true and false positives
// and negatives at every threshold, exactly, whatever the batches and replicas. Pure functions; any thread.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "nn/metric.h"

namespace dptrain::nn {

/// At one threshold.
struct Confusion {
  double true_positives = 0, false_positives = 0, true_negatives = 0, false_negatives = 0;
};

inline std::size_t threshold_state(std::size_t groups, std::size_t thresholds) { return groups * 2 * (thresholds + 1); }

/// Of one group, at every threshold in ascending order.
inline std::vector<Confusion> confusions(std::span<const double> group) {
  const std::size_t buckets = group.size() / 2;
  std::vector<Confusion> all(buckets - 1);
  double negatives = 0, positives = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    negatives += group[i];
    positives += group[buckets + i];
    all[i].true_negatives = negatives;
    all[i].false_negatives = positives;
  }
  negatives = positives = 0;
  for (std::size_t i = all.size(); i > 0; --i) {
    negatives += group[i];
    positives += group[buckets + i];
    all[i - 1].false_positives = negatives;
    all[i - 1].true_positives = positives;
  }
  return all;
}

/// Keras's divide_no_nan: 0 where there is nothing to divide by.
inline double share_of(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// The arguments that Precision and Recall have in common.
struct CountedAbove {
  std::vector<double> thresholds{};  ///< empty: 0.5, or none at all with top_k
  std::optional<std::int64_t> top_k{}, class_id{};

  /// As Keras has them by default.
  std::vector<double> effective() const {
    constexpr double kBelowAll = -1e10;  // Keras's NEG_INF
    if (!thresholds.empty()) return thresholds;
    return {top_k ? kBelowAll : 0.5};
  }
  std::vector<double> ascending() const {
    std::vector<double> all = effective();
    std::ranges::sort(all);
    return all;
  }
  /// f(confusion) at each threshold, in the order in which they were given.
  template <class F>
  std::vector<double> values(std::span<const double> state, const F& f) const {
    const std::vector<double> sorted = ascending();
    const std::vector<Confusion> all = confusions(state);
    std::vector<double> values;
    for (const double threshold : effective())
      values.push_back(f(all[static_cast<std::size_t>(std::ranges::lower_bound(sorted, threshold) - sorted.begin())]));
    return values;
  }
};

inline std::string thresholds_in_range(const std::vector<double>& thresholds) {
  for (const double threshold : thresholds)
    if (!(threshold >= 0 && threshold <= 1)) return fmt::format("must be in [0, 1], found {}", threshold);
  return "";
}

inline std::string counts_fit(const CountedAbove& spec, const MetricSubject& subject) {
  if (spec.top_k && *spec.top_k > subject.classes())
    return fmt::format("top_k = {} of an output of {} values; give a smaller one", *spec.top_k, subject.classes());
  if (spec.class_id && *spec.class_id >= subject.classes())
    return fmt::format("class_id = {} of an output of {} values, counted from 0", *spec.class_id, subject.classes());
  return "";
}

}  // namespace dptrain::nn
