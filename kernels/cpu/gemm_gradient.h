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

  int64_t images() const { return rows / (pixels.h * pixels.w); }
};

/// Windows that are multiplied at a time: packed, or read where they stand.
inline constexpr int64_t kGradientChunk = 256, kDirectChunk = 128;
/// Where a gradient has few blocks of so many elements, the batch is cut, into parts of so many windows, so that there
/// are so many pieces of work for threads.
inline constexpr int64_t kPartBlock = 32 << 10, kPartRows = 1024, kPartPieces = 16;

/// Parts of the batch for a gradient of so many elements: sums of their own, added in order at the end.
constexpr int64_t gradient_parts(int64_t rows, int64_t elements) {
  const int64_t most = std::max<int64_t>(1, kPartPieces * kPartBlock / std::max<int64_t>(kPartBlock, elements));
  return std::clamp<int64_t>(rows / kPartRows, 1, most);
}

/// The largest gradient for which operands are read where they stand: they take few products for what packing costs.
inline constexpr int64_t kDirectElements = 64 << 10;

/// Whether both operands can be read where they stand: windows of one pixel, none of them outside of its image, as many
/// channels as fill registers, and rows that do not meet in the same sets of the caches.
bool direct_gradient_fits(const GemmPixels& pixels);
/// As gemm_conv_backward_weights() and its workspace, where it fits.
int64_t direct_gradient_workspace(const GemmGradient& gradient);
void direct_gradient(const GemmGradient& gradient, float* workspace);

}  // namespace dptrain::kernels::cpu
