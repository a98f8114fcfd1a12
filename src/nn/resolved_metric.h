#pragma once

// Loss and metrics of an output, for headers that store them; nn/loss.h and nn/metric.h define them. Plain values.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::nn {

struct MetricType;

config::Family& loss_family();
using Loss = config::Of<loss_family>;
config::Family& metric_family();
using Metric = config::Of<metric_family>;

/// The kind of an output's labels.
enum class LabelKind {
  kClass,  ///< an int32 for each position, that is for all axes of the output but the last
  kDense,  ///< a row of floats with as many elements as the output
};

/// The data that a metric reads: one output of the model and its labels.
struct MetricSubject {
  std::string name{};  ///< quoted name of the output, for messages
  Shape output{};      ///< shape without the batch
  LabelKind labels = LabelKind::kClass;

  /// The last extent, and the number of rows of that length in a sample.
  std::int64_t classes() const { return output.rank() == 0 ? 1 : output.back(); }
  std::int64_t positions() const { return output.elements() / classes(); }
};

enum class Direction { kUnknown, kSmaller, kLarger };

/// Whether a value is better than another one; never for kUnknown.
inline bool is_better(Direction direction, double value, double other) {
  if (direction == Direction::kUnknown) return false;
  return direction == Direction::kLarger ? value > other : value < other;
}

/// A metric of a plan: its definition applied to one output.
struct ResolvedMetric {
  config::Typed metric{};
  MetricSubject subject{};
  std::vector<std::string> names{};  ///< keys in logs and CSV, one per value: "auc", or "f1_score_0"
  std::size_t state = 1;             ///< number of doubles
  std::size_t offset = 1;            ///< index of its state in its LossStep's sums
  bool masked = false;               ///< leaves out positions that its output's mask excludes

  const MetricType& type() const;
  std::vector<double> values(std::span<const double> sums, double weight) const;
};

}  // namespace dptrain::nn
