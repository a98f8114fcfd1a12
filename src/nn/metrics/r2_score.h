#pragma once

// keras.metrics.R2Score, of each value of the output: 1 - sum (y - p)^2 / (sum y^2 - (sum y)^2 / n), and 0 where that
// is infinite. class_aggregation: their mean, their mean weighted by the divisors, or null, a score per value.
// num_regressors p: adjusted, 1 - (1 - R2) (n - 1) / (n - p - 1); as long as n is not above p + 1, R2 itself. Keras's n
// of the adjustment counts values, samples times width.

#include <array>
#include <optional>
#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

enum class ScoreAggregation { kUniform, kVarianceWeighted };

struct R2ScoreSpec {
  std::string name = "r2_score";
  std::optional<ScoreAggregation> class_aggregation = ScoreAggregation::kUniform;
  std::int64_t num_regressors = 0;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::ScoreAggregation> {
  static constexpr std::array names{
      std::pair{dptrain::nn::ScoreAggregation::kUniform, "uniform_average"},
      std::pair{dptrain::nn::ScoreAggregation::kVarianceWeighted, "variance_weighted_average"}};
};
