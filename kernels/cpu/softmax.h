#pragma once

// Softmax and its logarithm over the last axis of [rows, classes]; with cross-entropy: loss.h. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

/// y = softmax(x), after subtracting the maximum; y == x is allowed.
void softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y);

/// dx = y (dy - sum(y dy)); dx == dy is allowed.
void softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes, float* dx);

/// y = ln softmax(x) = x - max - ln sum(e^(x - max)); y == x is allowed.
void log_softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y);

/// dx = dy - e^y sum(dy); dx == dy is allowed.
void log_softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes,
                          float* dx);

}  // namespace dptrain::kernels::cpu
