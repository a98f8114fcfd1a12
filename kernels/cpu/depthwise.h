#pragma once

// Depthwise convolution of NHWC images: any window, stride, dilation and multiplier. An output is one chain of
// multiply-adds over the window, row by row, with any instruction set. Weight gradients are partial sums of fixed
// pieces of the batch, added in order. Conventions: parallel.h.

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// y = x * weights + bias (null: none), then max(y, 0) if `relu`.
void depthwise_forward(const DepthwiseShape& shape, const float* x, const float* weights, const float* bias, bool relu,
                       int64_t rows, float* y);

void depthwise_backward_data(const DepthwiseShape& shape, const float* dy, const float* weights, int64_t rows,
                             float* dx);
int64_t depthwise_workspace(const DepthwiseShape& shape, int64_t rows);

void depthwise_backward_weights(const DepthwiseShape& shape, const float* x, const float* dy, int64_t rows,
                                float* workspace, float* dweights);

}  // namespace dptrain::kernels::cpu
