#pragma once

// What metrics count of values above thresholds; the same for CPU and GPU kernels. The bin of a value is
// (group * 2 + (label is not zero)) * (count + 1) + bucket, where the bucket is how many thresholds it exceeds.

#include <cstdint>

namespace dptrain::kernels {

struct ThresholdBins {
  /// Ascending. NaN exceeds none.
  const float* thresholds = nullptr;
  std::int32_t count = 1;
  /// Thresholds are -e, 1 / (count - 1), ..., 1 + e: the bucket is max(ceil(p (count - 1)), 1) of p clipped to [0, 1],
  /// in float.
  bool even = false;
  /// In place of thresholds (count is 1): the largest values of a row are above, if they are not nearly zero.
  bool largest = false;
  bool by_class = false;       ///< a group per class, else one
  bool sigmoid = false;        ///< predictions are logits: p = 1 / (1 + exp(-z))
  std::int64_t top_k = 0;      ///< not 0: values that are not among the k largest of their row exceed no threshold
  std::int64_t class_id = -1;  ///< not -1: other classes are in no bin
};

/// A value as near to zero as this is no largest one: Keras's F1Score.
inline constexpr float kNearlyZero = 1e-9F;

}  // namespace dptrain::kernels
