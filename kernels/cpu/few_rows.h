#pragma once

// Products of a few rows with a large matrix, bound by reading the matrix once. Conventions: parallel.h.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Up to this many rows reading the matrix takes longer than the multiplication.
inline constexpr int64_t kFewRows = 12;

/// y[row, c] = bias[c] + sum over i of x[row, i] matrix[i, c], in the order of i: x [rows, lines], matrix [lines,
/// width], y [rows, width]; bias null: zeros.
void rows_times_matrix(const float* x, int64_t rows, const float* matrix, const float* bias, int64_t lines,
                       int64_t width, float* y);

/// y[row, line] = sum over i of x[row, i] matrix[line, i]: x [rows, width], matrix [lines, width], y [rows, lines].
void rows_times_lines(const float* x, int64_t rows, const float* matrix, int64_t lines, int64_t width, float* y);

}  // namespace dptrain::kernels::cpu
