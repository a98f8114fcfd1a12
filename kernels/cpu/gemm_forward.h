#pragma once

// Forward convolutions of any window and stride as matrix products. Some windows are gathered into a panel that stays
// in the L1 cache, while the packed weights are read from the L2 cache. Sums stay in registers and are stored at their
// final place. The next inputs and the output memory are prefetched. NHWC images, weights [kernel_h, kernel_w, in,
// out]. Nothing is allocated; `threads` is the maximum number of threads. Conventions: parallel.h. Passes of other
// layers can be fused (piece_pass.h): `prologue` computes a chunk of x, `epilogue` reads a chunk of y, both while it is
// in the L2 cache. The bits of a sample depend neither on them nor on the number of rows or threads.

#include "kernels/cpu/piece_pass.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

struct GemmForward {
  ConvWindow window;
  const float* x = nullptr;
  const float* weights = nullptr;
  bool transposed_weights = false;  ///< weights are [out, in] of a window of one pixel: the gradient of x from dy
  const float* bias = nullptr;      ///< [out]; null: none
  bool relu = false;                ///< applies max(y, 0) last; keeps NaN
  int64_t rows = 0;                 ///< images
  float* y = nullptr;
  /// Over positions of x; requires gemm_forward_is_pointwise(). Null: x is complete.
  const PiecePass* prologue = nullptr;
  const PiecePass* epilogue = nullptr;  ///< over positions of y
};

/// Whether outputs fill whole vectors, without groups or dilation.
bool gemm_forward_fits(const ConvWindow& window);
/// Whether position i of y reads position i of x alone.
bool gemm_forward_is_pointwise(const ConvWindow& window);

int64_t gemm_forward_workspace(const ConvWindow& window, int64_t rows, int threads);
void gemm_forward(const GemmForward& forward, float* workspace);

}  // namespace dptrain::kernels::cpu
