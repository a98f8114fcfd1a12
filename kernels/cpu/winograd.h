#pragma once

// Convolutions of stride 1 by Winograd's minimal filtering: NHWC images, HWIO weights, zero padding of any width. A
// tile of m x m outputs takes (m + r - 1)^2 products per pair of channels in place of m^2 r^2:
//
//   F(4x4, 3x3)   36 for 144        F(3x3, 3x3)   25 for 81         F(6x6, 3x3)   64 for 324
//   F(2x2, 5x5)   36 for 100        F(4x4, 5x5)   64 for 400
//
// Transform, products and inverse run block by block of tiles, in the caches. The transforms round more than
// direct sums do (tests/kernels/winograd_test.cpp states the bounds).
//
// A sample's outputs and data gradients are the same bits in any batch and with any number of threads; weight gradients
// are sums over fixed pieces of the batch, added in order: the same bits with any number of threads. Other instruction
// sets may give other last bits. May be called from any thread; work is shared among the caller's threads (parallel.h).
// Outputs are overwritten and are not inputs; tensors may be aligned as they like.

#include <cstdint>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// A convolution without strides, dilation and groups, its window square, 3 or 5, its padding before the image less
/// than that; after the image whatever the output wants. Output extents are the convolution's, also with `pool`.
struct WinogradShape : ConvWindow {
  bool relu = false;  ///< forward: max(y, 0) after the bias
  /// y and dy are those of a 2x2 max-pooling with stride 2 behind bias and ReLU, [rows, out_h / 2, out_w / 2,
  /// out_channels], each with a byte `taken`: the position 2 * row + column of the (first) largest value in its window,
  /// or kNothingTaken where ReLU let nothing through. The last of an odd number of rows or columns is not seen.
  bool pool = false;
};

/// "F(4x4,3x3)": the tile that the shape is computed with, chosen from its extents.
const char* winograd_tile(const WinogradShape& shape);
/// Multiplications that it takes for each pair of channels of an image.
int64_t winograd_products(const WinogradShape& shape);

/// Floats of workspace that the passes want for `rows` samples on `threads` threads.
int64_t winograd_forward_workspace(const WinogradShape& shape, int64_t rows, int threads);
int64_t winograd_backward_data_workspace(const WinogradShape& shape, int64_t rows, int threads);
int64_t winograd_backward_weights_workspace(const WinogradShape& shape, int64_t rows, int threads);

/// y = x * weights + bias (null: none). `taken`: with pool, written, or null.
void winograd_forward(const WinogradShape& shape, const float* x, const float* weights, const float* bias, int64_t rows,
                      float* workspace, float* y, uint8_t* taken);

/// `taken`: with pool, read. dy must have no ReLU to undo but, with pool, the one that `taken` tells of.
void winograd_backward_data(const WinogradShape& shape, const float* dy, const uint8_t* taken, const float* weights,
                            int64_t rows, float* workspace, float* dx);

/// `dbias` may be null.
void winograd_backward_weights(const WinogradShape& shape, const float* x, const float* dy, const uint8_t* taken,
                               int64_t rows, float* workspace, float* dweights, float* dbias);

/// Floats of workspace that both gradients in one pass want; 0: they are better computed one after the other.
int64_t winograd_backward_workspace(const WinogradShape& shape, int64_t rows, int threads);

/// winograd_backward_weights() and winograd_backward_data() in one pass, which share dy's transform: the same bits.
void winograd_backward(const WinogradShape& shape, const float* x, const float* dy, const uint8_t* taken,
                       const float* weights, int64_t rows, float* workspace, float* dx, float* dweights, float* dbias);

}  // namespace dptrain::kernels::cpu
