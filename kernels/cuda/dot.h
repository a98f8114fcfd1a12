#pragma once

// The layer Dot, as kernels/cpu/dot.h. Sums are float, in the order of k.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

void strided_product(const Launch& at, DType type, const StridedProduct& product, const void* a, const void* b,
                     std::int64_t rows, void* c);

/// y = x with lines scaled to length 1. `factors` [rows, lines] receives min(1 / length, 1 / kShortestLine).
void normalize_lines(const Launch& at, DType type, const StridedLines& lines, const void* x, std::int64_t rows, void* y,
                     float* factors);
/// Replaces the gradient of y in dx by that of x.
void normalize_lines_backward(const Launch& at, DType type, const StridedLines& lines, const void* y,
                              const float* factors, std::int64_t rows, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
