#pragma once

// Hits and errors of rows [rows, width], with the equations of kernels/cpu/metric.h. Targets are those of losses,
// without smoothing. Calls without rows do nothing.

#include "kernels/cuda/loss.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// hit[row] = 1 if the first largest score is at the label (or at the first largest dense target), else 0. Ignores NaN.
void categorical_hits(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                      const LossTargets& targets, std::int32_t* hit);

/// hit[row] = 1 if fewer than k scores are larger than the label's (so ties are hits), else 0. NaN counts as a miss.
void top_k_hits(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                const LossTargets& targets, std::int64_t k, std::int32_t* hit);

/// hits[row] = number of elements of the row with (prediction > threshold) == (target == 1).
void binary_hits(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                 const LossTargets& targets, float threshold, std::int32_t* hits);

/// error[row] = mean over the row of (p - y)^2, and of |p - y|.
void squared_errors(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                    const LossTargets& targets, float* error);
void absolute_errors(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                     const LossTargets& targets, float* error);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
