#pragma once

// Products of a few rows with the lines of a large matrix: what is bound by reading the matrix once. May be called from
// any thread; work is shared among the caller's threads, whose number changes nothing. Outputs are overwritten.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Up to this many rows reading the matrix takes longer than multiplying with it.
inline constexpr int64_t kFewRows = 8;

/// y[row, line] = sum over i of x[row, i] matrix[line, i]: x [rows, width], matrix [lines, width], y [rows, lines].
void rows_times_lines(const float* x, int64_t rows, const float* matrix, int64_t lines, int64_t width, float* y);

}  // namespace dptrain::kernels::cpu
