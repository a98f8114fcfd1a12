#pragma once

// Convolutions of any window and stride forward as matrix products: some windows are gathered into a panel that stays
// in the nearest cache, and the weights, packed, stream past it from the second; sums are made in registers and written
// to where they belong. What is read next, and where y will be written, is fetched meanwhile. NHWC images, weights
// [kernel_h, kernel_w, in, out]. May be called from any thread; work is shared among the caller's threads. Everything
// written is overwritten; nothing is allocated: the workspace holds as many floats as the function says, for at most
// `threads` threads.
//
// Passes of other layers go along (piece_pass.h): `before` makes a chunk of x, `after` follows a chunk of y, both
// while it is in the second cache. A sample's bits depend on none of that, nor on the rows nor on the threads.

#include "kernels/cpu/piece_pass.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

struct GemmForward {
  ConvWindow window;
  const float* x = nullptr;
  const float* weights = nullptr;
  bool turned = false;          ///< weights are [out, in] of a window of one pixel: the gradient of its x from its dy
  const float* bias = nullptr;  ///< [out]; null: none
  bool relu = false;            ///< max(y, 0) at last; NaN passes
  int64_t rows = 0;             ///< images
  float* y = nullptr;
  const PiecePass* before = nullptr;  ///< over positions of x: where gemm_forward_pairs(); null: x is there
  const PiecePass* after = nullptr;   ///< over positions of y
};

/// Whole vectors of outputs, no groups and no gaps in windows.
bool gemm_forward_fits(const ConvWindow& window);
/// Whether position i of y reads position i of x alone.
bool gemm_forward_pairs(const ConvWindow& window);

int64_t gemm_forward_workspace(const ConvWindow& window, int64_t rows, int threads);
void gemm_forward(const GemmForward& forward, float* workspace);

}  // namespace dptrain::kernels::cpu
