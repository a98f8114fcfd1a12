#pragma once

// Convolutions of stride 1 by Winograd's minimal filtering: NHWC images, HWIO weights, any zero padding. A tile of m x
// m outputs takes (m + r - 1)^2 instead of m^2 r^2 products per pair of channels:
//   F(4x4, 3x3)   36 for 144        F(3x3, 3x3)   25 for 81         F(6x6, 3x3)   64 for 324
//   F(2x2, 5x5)   36 for 100        F(4x4, 5x5)   64 for 400
//
// Transform, products and inverse run block by block of tiles, in the caches. The transforms have larger rounding
// errors than direct sums (tests/kernels/winograd_test.cpp states the bounds). The last bits may depend on the
// instruction set. Outputs and data gradients of a sample have the same bits in any batch. Weight gradients are sums
// over fixed pieces of the batch, added in order. Tensors need no alignment. Conventions: parallel.h.

#include <cstdint>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// A convolution without strides, dilation and groups, with a square window of 3 or 5. Padding before the image is less
/// than the window; padding after it follows from the output. Output extents are given before pooling.
struct WinogradShape : ConvWindow {
  bool relu = false;  ///< forward: max(y, 0) after the bias
  /// Fuses a 2x2 max-pooling with stride 2 after bias and ReLU: y and dy are [rows, out_h / 2, out_w / 2,
  /// out_channels]. `argmax` has a byte for each: position 2 * row + column of the (first) largest value in the window,
  /// or kNoArgmax if the ReLU blocked all. An odd last row or column is ignored.
  bool pool = false;
};

/// Name of the tile chosen from the extents, for example "F(4x4,3x3)".
const char* winograd_tile(const WinogradShape& shape);
/// Multiplications per pair of channels of an image.
int64_t winograd_products(const WinogradShape& shape);

/// Floats of workspace for `rows` samples on `threads` threads.
int64_t winograd_forward_workspace(const WinogradShape& shape, int64_t rows, int threads);
int64_t winograd_backward_data_workspace(const WinogradShape& shape, int64_t rows, int threads);
int64_t winograd_backward_weights_workspace(const WinogradShape& shape, int64_t rows, int threads);

/// y = x * weights + bias (null: none). `argmax`: output with pool; may be null.
void winograd_forward(const WinogradShape& shape, const float* x, const float* weights, const float* bias, int64_t rows,
                      float* workspace, float* y, uint8_t* argmax);

/// `argmax`: input with pool. Without pool, dy must be the gradient before the ReLU, if there is one.
void winograd_backward_data(const WinogradShape& shape, const float* dy, const uint8_t* argmax, const float* weights,
                            int64_t rows, float* workspace, float* dx);

/// `dbias` may be null.
void winograd_backward_weights(const WinogradShape& shape, const float* x, const float* dy, const uint8_t* argmax,
                               int64_t rows, float* workspace, float* dweights, float* dbias);

/// Floats of workspace for both gradients in one pass; 0: two passes are faster.
int64_t winograd_backward_workspace(const WinogradShape& shape, int64_t rows, int threads);

/// winograd_backward_weights() and winograd_backward_data() in one pass that transforms dy once: the same bits.
void winograd_backward(const WinogradShape& shape, const float* x, const float* dy, const uint8_t* argmax,
                       const float* weights, int64_t rows, float* workspace, float* dx, float* dweights, float* dbias);

}  // namespace dptrain::kernels::cpu
