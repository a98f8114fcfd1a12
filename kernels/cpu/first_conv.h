#pragma once

// Convolution of images with few channels, such as the first layer of a network: NHWC images, HWIO weights. The
// in_channels values of a pixel cannot fill a vector, so vectors run over the output channels; the taps of a row of the
// window, which are contiguous in an image, are multiplied one by one. An output is one chain of multiply-adds that
// starts with the bias and runs over the window row by row; gradients are partial sums of fixed pieces of the batch,
// added in order. `slots` is the maximum number of threads. Conventions: parallel.h.

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// Input channels that the kernels are tuned for (three RGB frames); more are correct but slow.
inline constexpr int64_t kFirstConvChannels = 9;

int64_t first_conv_workspace(const ConvWindow& window, int slots);

/// y = x * weights + bias (null: none), then max(y, 0) if `relu`.
void first_conv_forward(const ConvWindow& window, const float* x, const float* weights, const float* bias, bool relu,
                        int64_t rows, float* workspace, float* y);

/// Fused with a 2x2 max-pooling: pooled [rows, out_h / 2, out_w / 2, out_channels]; an odd last row or column is
/// ignored. `argmax` (size of pooled, may be null): see kNoArgmax.
void first_conv_pool_forward(const ConvWindow& window, const float* x, const float* weights, const float* bias,
                             bool relu, int64_t rows, float* workspace, float* pooled, uint8_t* argmax);

int64_t first_conv_gradient_workspace(const ConvWindow& window, bool pool, int64_t rows, int slots);

/// dweights and dbias (may be null) from dy. With `argmax`, dy is the gradient of the pooled output.
void first_conv_backward_weights(const ConvWindow& window, const float* x, const float* dy, const uint8_t* argmax,
                                 int64_t rows, float* workspace, float* dweights, float* dbias);

}  // namespace dptrain::kernels::cpu
