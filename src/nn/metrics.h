#pragma once

// The specs of metrics that are a mean or a share over samples; those that count are in counting_metrics.h. Names,
// arguments and defaults are those of keras.metrics. A spec's `name` is the metric's key in logs.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

// Errors, over all values.

/// The mean of |prediction - label|.
struct MeanAbsoluteErrorMetricSpec {
  std::string name = "mean_absolute_error";
};

/// The mean of (prediction - label)^2.
struct MeanSquaredErrorMetricSpec {
  std::string name = "mean_squared_error";
};

/// The square root of the mean of (prediction - label)^2.
struct RootMeanSquaredErrorSpec {
  std::string name = "root_mean_squared_error";
};

enum class ScoreAggregation { kUniform, kVarianceWeighted };

/// Of each value of the output: 1 - sum (y - p)^2 / (sum y^2 - (sum y)^2 / n), and 0 where that is infinite.
/// class_aggregation: their mean, their mean weighted by the divisors, or null, a score per value. num_regressors p:
/// adjusted, 1 - (1 - R2) (n - 1) / (n - p - 1); as long as n is not above p + 1, R2 itself. Keras's n of the
/// adjustment counts values, samples times width.
struct R2ScoreSpec {
  std::string name = "r2_score";
  std::optional<ScoreAggregation> class_aggregation = ScoreAggregation::kUniform;
  std::int64_t num_regressors = 0;
};

// Accuracies. Of rows, the place of the largest value or label is that of the first largest; labels may be class
// numbers, which count as rows with a one.

/// Keras's string "accuracy" or "acc": BinaryAccuracy of an output whose last extent is 1, else CategoricalAccuracy.
struct AccuracySpec {
  std::string name = "accuracy";
};

/// The mean over values of (prediction > threshold) == (label == 1).
struct BinaryAccuracySpec {
  std::string name = "binary_accuracy";
  double threshold = 0.5;
};

/// The share of rows whose largest value is at the largest label.
struct CategoricalAccuracySpec {
  std::string name = "categorical_accuracy";
};

/// The same of class numbers.
struct SparseCategoricalAccuracySpec {
  std::string name = "sparse_categorical_accuracy";
};

/// The share of rows in which fewer than k values are larger than that at the largest label.
struct TopKCategoricalAccuracySpec {
  std::string name = "top_k_categorical_accuracy";
  std::int64_t k = 5;
};

/// The same of class numbers.
struct SparseTopKCategoricalAccuracySpec {
  std::string name = "sparse_top_k_categorical_accuracy";
  std::int64_t k = 5;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::ScoreAggregation> {
  static constexpr std::array names{
      std::pair{dptrain::nn::ScoreAggregation::kUniform, "uniform_average"},
      std::pair{dptrain::nn::ScoreAggregation::kVarianceWeighted, "variance_weighted_average"}};
};
