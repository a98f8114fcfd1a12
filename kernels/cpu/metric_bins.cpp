#include "kernels/cpu/metric_bins.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/class_rows.h"

namespace dptrain::kernels::cpu {

namespace {

/// The k-th largest value of a row; among equal values the first one precedes. The k largest are those up to this one.
struct KthLargest {
  float value;
  int64_t place;

  KthLargest(const float* row, int64_t classes, int64_t k) : value(INFINITY), place(-1) {
    for (int64_t i = 0; i < k; ++i) step(row, classes);
  }
  /// Moves to the next value in this order: smaller, or equal with a higher index.
  void step(const float* row, int64_t classes) {
    float next = -INFINITY;
    int64_t at = classes;
    for (int64_t c = 0; c < classes; ++c) {
      const bool behind = row[c] < value || (row[c] == value && c > place);
      if (behind && (at == classes || row[c] > next)) next = row[c], at = c;
    }
    value = next;
    place = at;
  }
  bool reaches(float x, int64_t c) const { return x > value || (x == value && c <= place); }
};

int32_t bucket_of(const ThresholdBins& what, float p) {
  if (std::isnan(p)) return 0;
  if (what.even) {
    const float place = std::ceil(std::clamp(p, 0.0F, 1.0F) * static_cast<float>(what.count - 1));
    return std::max(static_cast<int32_t>(place), 1);
  }
  return static_cast<int32_t>(std::lower_bound(what.thresholds, what.thresholds + what.count, p) - what.thresholds);
}

float sigmoid_of(float z) { return 1.0F / (1.0F + std::exp(-z)); }

/// The largest value of a row, ignoring NaN.
float largest_in(const float* row, int64_t classes) {
  float most = -INFINITY;
  for (int64_t c = 0; c < classes; ++c) most = std::max(most, row[c]);
  return most;
}

}  // namespace

void threshold_bins(const Launch&, DType, const float* predictions, int64_t rows, int64_t classes,
                    const LossTargets& targets, const ThresholdBins& what, int32_t* bins) {
  for_rows(rows, classes, [&](int64_t row) {
    const float* p = predictions + row * classes;
    const float most = what.largest ? largest_in(p, classes) : 0.0F;
    const KthLargest last(p, classes, what.top_k);
    for (int64_t c = 0; c < classes; ++c) {
      int32_t& bin = bins[row * classes + c];
      if (what.class_id >= 0 && c != what.class_id) {
        bin = -1;
        continue;
      }
      int32_t bucket = 0;
      if (what.largest)
        bucket = p[c] >= most && std::abs(p[c]) > kNearlyZero ? 1 : 0;
      else if (what.top_k == 0 || last.reaches(p[c], c))
        bucket = bucket_of(what, what.sigmoid ? sigmoid_of(p[c]) : p[c]);
      const int32_t side = element_target(targets, row, classes, c) != 0.0F ? 1 : 0;
      const auto group = static_cast<int32_t>(what.by_class ? c : 0);
      bin = (group * 2 + side) * (what.count + 1) + bucket;
    }
  });
}

void confusion_bins(const Launch&, DType, const float* scores, int64_t rows, int64_t classes,
                    const LossTargets& targets, int64_t size, int64_t ignored, int32_t* bins) {
  for_rows(rows, classes, [&](int64_t row) {
    const int64_t label = label_of(targets, row, classes), found = first_largest(scores + row * classes, classes);
    const bool counts = label >= 0 && label < size && label != ignored && found < size;
    bins[row] = counts ? static_cast<int32_t>(label * size + found) : -1;
  });
}

void add_counts(const Launch&, const int32_t* bins, int64_t n, int64_t, unsigned*, double* counts, const uint8_t* mask,
                int64_t bins_per_row) {
  for (int64_t i = 0; i < n; ++i)
    if (bins[i] >= 0 && (mask == nullptr || mask[i / bins_per_row] != 0)) counts[bins[i]] += 1.0;
}

void add_regression_sums(const Launch&, DType, const float* predictions, int64_t rows, int64_t classes,
                         const LossTargets& targets, double* sums) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < classes; ++c) {
      const double y = static_cast<double>(element_target(targets, row, classes, c));
      const double difference = y - static_cast<double>(predictions[row * classes + c]);
      sums[3 * c] += y;
      sums[3 * c + 1] += y * y;
      sums[3 * c + 2] += difference * difference;
    }
}

}  // namespace dptrain::kernels::cpu
