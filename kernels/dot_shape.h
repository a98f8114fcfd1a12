#pragma once

// Products of matrices and vectors that lie in memory in any order, the same for kernels/cpu and kernels/cuda.

#include <cstdint>

namespace dptrain::kernels {

/// Of each sample c(i, j) = the sum over k of a(i, k) b(j, k), for i < m, j < n, k < depth. Strides are in elements; a
/// sample's part of a, b and c is m * depth, n * depth and m * n elements long, without gaps.
struct StridedProduct {
  int64_t m, n, depth;
  int64_t a_i, a_k, b_j, b_k, c_i, c_j;
};

/// Lines through a sample's matrix, all of one length.
struct StridedLines {
  int64_t lines, length;
  int64_t line_stride, stride;  ///< from line to line, and along a line
};

/// Lines shorter than this are not made 1 long but divided by it (keras.backend.epsilon(), in ops.normalize).
inline constexpr float kShortestLine = 1e-7F;

}  // namespace dptrain::kernels
