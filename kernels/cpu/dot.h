#pragma once

// The layer Dot. May be called from any thread; work is shared among the caller's threads. Each number is a sum in the
// order of k, by itself: results depend on nothing but the inputs. Outputs are overwritten and are not inputs.

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void strided_product(const Launch&, DType, const StridedProduct& product, const float* a, const float* b, int64_t rows,
                     float* c);

/// y = x, its lines made 1 long: times min(1 / length, 1 / kShortestLine), which `factors` [rows, lines] keeps.
void normalize_lines(const Launch&, DType, const StridedLines& lines, const float* x, int64_t rows, float* y,
                     float* factors);
/// dx holds the gradient of y and becomes that of x.
void normalize_lines_backward(const Launch&, DType, const StridedLines& lines, const float* y, const float* factors,
                              int64_t rows, float* dx);

}  // namespace dptrain::kernels::cpu
