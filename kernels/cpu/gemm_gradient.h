#pragma once

// The weight gradient of a convolution as a matrix product, and how its work is cut. Only for gemm_*gradient*.cpp.

#include <algorithm>

#include "kernels/cpu/gemm_pixels.h"

namespace dptrain::kernels::cpu {

struct GemmGradient {
  GemmPixels pixels;  ///< windows of the forward pass
  int64_t rows = 0;   ///< number of windows of all images
  const float *x = nullptr, *dy = nullptr;
  float *dweights = nullptr, *dbias = nullptr;

  int64_t images() const { return rows / (pixels.h * pixels.w); }
};

/// Windows multiplied at a time: packed, or read in place.
inline constexpr int64_t kGradientChunk = 256, kDirectChunk = 128;
/// Cuts the batch if the gradient has few blocks of kPartBlock elements: into up to kPartPieces pieces of work for the
/// threads, each of at least kPartRows windows.
inline constexpr int64_t kPartBlock = 32 << 10, kPartRows = 1024, kPartPieces = 16;

/// Parts of the batch for a gradient of `elements` elements. Each has its own sums; they are added in order at the end.
constexpr int64_t gradient_parts(int64_t rows, int64_t elements) {
  const int64_t most = std::max<int64_t>(1, kPartPieces * kPartBlock / std::max<int64_t>(kPartBlock, elements));
  return std::clamp<int64_t>(rows / kPartRows, 1, most);
}

/// The largest gradient whose operands are read in place: packing costs too much for its few products.
inline constexpr int64_t kDirectElements = 64 << 10;

/// Whether both operands can be read in place: windows of one pixel inside the image, enough channels for the
/// registers, and rows in different cache sets.
bool direct_gradient_fits(const GemmPixels& pixels);
/// As gemm_conv_backward_weights() and its workspace, if direct_gradient_fits().
int64_t direct_gradient_workspace(const GemmGradient& gradient);
void direct_gradient(const GemmGradient& gradient, float* workspace);

}  // namespace dptrain::kernels::cpu
