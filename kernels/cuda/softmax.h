#pragma once

// Softmax and its logarithm over the last axis of [rows, classes] in device memory, computed in float. Queued on the
// launch's stream. Outputs are overwritten.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// y = softmax(x), the largest value subtracted first; y == x allowed.
void softmax_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes, void* y);

/// The same with y always in float: probabilities for a metric of 16-bit logits. y == x allowed for float32.
void softmax_probabilities(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes,
                           float* y);

/// y = 1 / (1 + exp(-x)) of n elements, y in float. y == x allowed for float32.
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
