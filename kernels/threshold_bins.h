#pragma once

// Bins of values for metrics with thresholds, for CPU and GPU kernels. The bin of a value is (group * 2 + (label is not
// zero)) * (count + 1) + bucket; the bucket is the number of thresholds that the value exceeds.

#include <cstdint>

namespace dptrain::kernels {

struct ThresholdBins {
  /// Ascending. NaN exceeds no threshold.
  const float* thresholds = nullptr;
  std::int32_t count = 1;
  /// Thresholds are -e, 1 / (count - 1), ..., 1 + e. The bucket is max(ceil(clip(p, 0, 1) (count - 1)), 1), in float.
  bool even = false;
  /// Replaces thresholds (count is 1): the largest values of a row count as above, unless they are nearly zero.
  bool largest = false;
  bool by_class = false;       ///< one group per class, else one group
  bool sigmoid = false;        ///< predictions are logits: p = 1 / (1 + exp(-z))
  std::int64_t top_k = 0;      ///< if not 0, values that are not among the k largest of their row exceed no threshold
  std::int64_t class_id = -1;  ///< if not -1, other classes are in no bin
};

/// Values up to this do not count as largest (Keras's F1Score).
inline constexpr float kNearlyZero = 1e-9F;

}  // namespace dptrain::kernels
