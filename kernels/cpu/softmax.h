#pragma once

// Softmax and its logarithm over the last axis of [rows, classes]; softmax with cross-entropy in one pass is in loss.h.
// May be called from any thread; work is shared among the caller's threads. Outputs are overwritten.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

/// y = softmax(x), the largest value subtracted first; y == x allowed.
void softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y);

/// dx = y (dy - sum(y dy)); dx == dy allowed.
void softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes, float* dx);

/// y = ln softmax(x) = x - max - ln sum(e^(x - max)); y == x allowed.
void log_softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y);

/// dx = dy - e^y sum(dy); dx == dy allowed.
void log_softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes,
                          float* dx);

}  // namespace dptrain::kernels::cpu
