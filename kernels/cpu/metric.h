#pragma once

// Hits and errors of rows. Predictions: [rows, classes]; targets: as for losses, not smoothed. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/loss.h"

namespace dptrain::kernels::cpu {

/// hit[row] = 1 if the first largest score is at the label (or at the first largest dense target).
void categorical_hits(const Launch& at, DType type, const float* scores, int64_t rows, int64_t classes,
                      const LossTargets& targets, Hit* hit);

/// hit[row] = 1 if fewer than k scores are strictly larger than that of the label, so ties at the k-th place are hits.
/// A NaN score at the label is a miss.
void top_k_hits(const Launch& at, DType type, const float* scores, int64_t rows, int64_t classes,
                const LossTargets& targets, int64_t k, Hit* hit);

/// hits[row] = number of values of the row with (prediction > threshold) == (target == 1).
void binary_hits(const Launch& at, DType type, const float* predictions, int64_t rows, int64_t classes,
                 const LossTargets& targets, float threshold, int32_t* hits);

/// error[row] = mean over the row of (p - y)^2.
void squared_errors(const Launch& at, DType type, const float* predictions, int64_t rows, int64_t classes,
                    const LossTargets& targets, float* error);

/// error[row] = mean over the row of |p - y|.
void absolute_errors(const Launch& at, DType type, const float* predictions, int64_t rows, int64_t classes,
                     const LossTargets& targets, float* error);

}  // namespace dptrain::kernels::cpu
