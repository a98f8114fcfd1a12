#pragma once

// Specs of metrics that are a mean or a share over samples (counts: counting_metrics.h), with the names, arguments and
// defaults of keras.metrics. A spec's `name` is the metric's key in logs.

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

/// The score of a value of the output is 1 - sum (y - p)^2 / (sum y^2 - (sum y)^2 / n), or 0 if that is infinite.
/// class_aggregation: their mean, their mean weighted by the divisors, or null for a score per value. num_regressors p
/// adjusts the score to 1 - (1 - R2) (n - 1) / (n - p - 1), if n > p + 1. For the adjustment Keras's n is the number of
/// values: samples times width.
struct R2ScoreSpec {
  std::string name = "r2_score";
  std::optional<ScoreAggregation> class_aggregation = ScoreAggregation::kUniform;
  std::int64_t num_regressors = 0;
};

// Accuracies. The class of a row is the index of its first largest value. Labels may be class numbers, which count as
// one-hot rows.

/// Keras's string "accuracy" or "acc": BinaryAccuracy of an output whose last extent is 1, else CategoricalAccuracy.
struct AccuracySpec {
  std::string name = "accuracy";
};

/// The mean over values of (prediction > threshold) == (label == 1).
struct BinaryAccuracySpec {
  std::string name = "binary_accuracy";
  double threshold = 0.5;
};

/// The share of rows whose largest value has the index of the largest label.
struct CategoricalAccuracySpec {
  std::string name = "categorical_accuracy";
};

/// CategoricalAccuracy for labels that are class numbers.
struct SparseCategoricalAccuracySpec {
  std::string name = "sparse_categorical_accuracy";
};

/// The share of rows in which fewer than k values exceed the value at the index of the largest label.
struct TopKCategoricalAccuracySpec {
  std::string name = "top_k_categorical_accuracy";
  std::int64_t k = 5;
};

/// TopKCategoricalAccuracy for labels that are class numbers.
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
