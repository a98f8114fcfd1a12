#pragma once

// Softmax and its logarithm over the last axis of [rows, classes], in float.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// y = softmax(x), after subtracting the maximum; y == x allowed.
void softmax_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes, void* y);

/// As softmax_forward with y in float: probabilities for metrics of 16-bit logits. y == x allowed for float32.
void softmax_probabilities(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes,
                           float* y);

/// y = 1 / (1 + exp(-x)) for n elements, in float. y == x allowed for float32.
void sigmoid_probabilities(const Launch& at, DType type, const void* x, std::int64_t n, float* y);

/// dx = y (dy - sum(y dy)); dx == dy allowed.
void softmax_backward(const Launch& at, DType type, const void* y, const void* dy, std::int64_t rows,
                      std::int64_t classes, void* dx);

/// y = ln softmax(x) = x - max - ln sum(e^(x - max)); y == x allowed.
void log_softmax_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes, void* y);

/// dx = dy - e^y sum(dy); dx == dy allowed.
void log_softmax_backward(const Launch& at, DType type, const void* y, const void* dy, std::int64_t rows,
                          std::int64_t classes, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
