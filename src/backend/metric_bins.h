#pragma once

// What metrics that count above thresholds ask of the kernels, the same for every device. Pure functions; any thread.

#include <vector>

#include "backend/metric_op.h"
#include "kernels/threshold_bins.h"
#include "nn/counting_metrics.h"

namespace dptrain::backend {

/// Without its thresholds.
inline kernels::ThresholdBins bins_above(const nn::CountedAbove& spec) {
  return {.top_k = spec.top_k.value_or(0), .class_id = spec.class_id.value_or(-1)};
}

/// As the predictions have them that the op reads.
inline std::vector<float> thresholds_of(const MetricContext& context, const std::vector<double>& ascending) {
  std::vector<float> all;
  for (const double threshold : ascending) all.push_back(static_cast<float>(context.threshold(threshold)));
  return all;
}

}  // namespace dptrain::backend
