#pragma once

// Losses and metrics: specs with Keras's names. A loss reads the model's output (or, where the plan fuses, the logits
// before its softmax or sigmoid) and labels; the equations are in docs/numerics.md.

#include <optional>
#include <string>

#include "config/family.h"
#include "core/shape.h"

namespace dptrain::optim {

config::Family& loss_family();  ///< aliases: categorical_crossentropy, mse, mean_squared_error, ...
using Loss = config::Of<loss_family>;

struct CategoricalCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;
};
struct SparseCategoricalCrossentropySpec {
  bool from_logits = false;
};
struct BinaryCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;
};
struct MeanSquaredErrorSpec {};
struct MeanAbsoluteErrorSpec {};

config::Family& metric_family();
using Metric = config::Of<metric_family>;

/// "accuracy"/"acc": binary for one output, else (sparse) categorical; resolved against loss and output by
/// resolve_metric.
struct AccuracySpec {
  std::string name = "accuracy";
};
struct BinaryAccuracySpec {
  std::string name = "binary_accuracy";
  double threshold = 0.5;
};
struct CategoricalAccuracySpec {
  std::string name = "categorical_accuracy";
};
struct SparseCategoricalAccuracySpec {
  std::string name = "sparse_categorical_accuracy";
};
struct TopKCategoricalAccuracySpec {
  std::string name = "top_k_categorical_accuracy";
  std::int64_t k = 5;
};
struct SparseTopKCategoricalAccuracySpec {
  std::string name = "sparse_top_k_categorical_accuracy";
  std::int64_t k = 5;
};
struct MeanSquaredErrorMetricSpec {
  std::string name = "mse";
};
struct MeanAbsoluteErrorMetricSpec {
  std::string name = "mae";
};

/// Keras logs a metric given as a string under that very string: its short and long names are types of their own.
struct AccSpec : AccuracySpec {
  AccSpec() { name = "acc"; }
};
struct MeanSquaredErrorLongMetricSpec : MeanSquaredErrorMetricSpec {
  MeanSquaredErrorLongMetricSpec() { name = "mean_squared_error"; }
};
struct MeanAbsoluteErrorLongMetricSpec : MeanAbsoluteErrorMetricSpec {
  MeanAbsoluteErrorLongMetricSpec() { name = "mean_absolute_error"; }
};

/// What a metric can count for one sample.
enum class MetricKind { kArgmaxEqual, kBinaryEqual, kTopK, kSquaredError, kAbsoluteError };
struct ResolvedMetric {
  std::string name{};  ///< key in logs and CSV
  MetricKind kind = MetricKind::kArgmaxEqual;
  std::int64_t k = 1;
  double threshold = 0.5;
};
ResolvedMetric resolve_metric(const config::Typed& metric, const Shape& output);

/// What the labels of one sample are, after the loss and the output have been seen.
enum class LabelKind { kClass /*int32*/, kDense /*float row as wide as the output*/ };

}  // namespace dptrain::optim
