#pragma once

// Weight gradients of convolutions of any window and stride as matrix products, without a matrix of the windows in
// memory. Chunks of windows are gathered into panels that stay in the caches and multiplied in registers
// (gemm_gradient_tile-inl.h). A window of one pixel is a product of two matrices: a Dense layer or a 1x1 convolution.
// NHWC images, weights [kernel_h, kernel_w, in, out]. Gradients are sums over fixed pieces of the batch, added in
// order; large ones use non-temporal stores. Allocates nothing; `threads`: maximum number. Conventions: parallel.h.

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// Maximum number of pixels of a window.
inline constexpr int64_t kGemmConvTaps = 49;

/// y [rows, out] = x [rows, in] weights [in, out], as a convolution of rows images of one pixel.
constexpr ConvWindow matrix_window(int64_t in, int64_t out) { return {.in_channels = in, .out_channels = out}; }

/// Whether windows of one pixel can be read in place. Small gradients of at least kGemmConvManyWindows windows (of all
/// images) do so; others pack the operands first.
bool gemm_conv_reads_in_place(const ConvWindow& window);
inline constexpr int64_t kGemmConvManyWindows = 256;

int64_t gemm_conv_backward_weights_workspace(const ConvWindow& window, int64_t rows, int threads);

/// dweights and dbias (may be null) from dy.
void gemm_conv_backward_weights(const ConvWindow& window, const float* x, const float* dy, int64_t rows,
                                float* workspace, float* dweights, float* dbias);

}  // namespace dptrain::kernels::cpu
