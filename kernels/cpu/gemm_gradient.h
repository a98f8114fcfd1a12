#pragma once

// The gradient of a convolution's weights as a product of matrices, and how its work is cut. Words of
// gemm_*gradient*.cpp alone.

#include <algorithm>

#include "kernels/cpu/gemm_pixels.h"

namespace dptrain::kernels::cpu {

struct GemmGradient {
  GemmPixels pixels;  ///< of the forward pass
  int64_t rows = 0;   ///< windows: of all images
  const float *x = nullptr, *dy = nullptr;
  float *dweights = nullptr, *dbias = nullptr;
};

/// Blocks of 16 of K and of columns that a piece of the work has, and windows that it takes at a time.
inline constexpr int64_t kGradientBlocks = 16, kGradientRows = 128;
/// Pieces in all where the gradient is too small to divide among threads: the batch is cut, into parts of so many
/// windows.
inline constexpr int64_t kGradientPieces = 16, kPartRows = 512;

/// Parts of the batch, where a gradient has so many blocks: sums of their own, added in order at the end.
constexpr int64_t gradient_parts(int64_t rows, int64_t blocks) {
  const int64_t most = std::max<int64_t>(1, kGradientPieces / blocks);
  return std::clamp<int64_t>(rows / kPartRows, 1, most);
}

/// Whether both operands can be read where they stand: windows of one pixel, none of them outside of its image, as many
/// channels as fill registers, and rows that do not meet in the same sets of the caches.
bool direct_gradient_fits(const GemmPixels& pixels);
/// As gemm_conv_backward_weights() and its workspace, where it fits.
int64_t direct_gradient_workspace(const GemmGradient& gradient);
void direct_gradient(const GemmGradient& gradient, float* workspace);

}  // namespace dptrain::kernels::cpu
