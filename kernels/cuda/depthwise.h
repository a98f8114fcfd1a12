#pragma once

// Depthwise convolution of [rows, h, w, channels]: any window, stride, dilation and multiplier. Weights, bias, their
// gradients and sums are float; the order of sums depends only on the shape. Outputs must not overlap inputs.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::DepthwiseShape;

/// y = x * weights + bias (may be null), then max(y, 0) if `relu`.
void depthwise_forward(const Launch& at, DType type, const DepthwiseShape& shape, const void* x, const float* weights,
                       const float* bias, bool relu, std::int64_t rows, void* y);

void depthwise_backward_data(const Launch& at, DType type, const DepthwiseShape& shape, const void* dy,
                             const float* weights, std::int64_t rows, void* dx);

/// Floats of workspace for depthwise_backward_weights, aligned to 16 bytes; also suffices for fewer rows.
std::int64_t depthwise_workspace(DType type, const DepthwiseShape& shape, std::int64_t rows);

void depthwise_backward_weights(const Launch& at, DType type, const DepthwiseShape& shape, const void* x,
                                const void* dy, std::int64_t rows, float* workspace, float* dweights);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
