#pragma once

// The layer Dot. Each number is one sum in the order of k. Conventions: parallel.h.

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void strided_product(const Launch&, DType, const StridedProduct& product, const float* a, const float* b, int64_t rows,
                     float* c);

/// y = x with each line scaled by min(1 / length, 1 / kShortestLine); saves these factors to `factors` [rows, lines].
void normalize_lines(const Launch&, DType, const StridedLines& lines, const float* x, int64_t rows, float* y,
                     float* factors);
/// In: dx is the gradient of y. Out: that of x.
void normalize_lines_backward(const Launch&, DType, const StridedLines& lines, const float* y, const float* factors,
                              int64_t rows, float* dx);

}  // namespace dptrain::kernels::cpu
