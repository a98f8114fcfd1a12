#pragma once

// Depthwise convolution of [rows, h, w, channels] in any number type: any window, stride, dilation and multiplier.
// Weights, bias and weight gradients in float, as Keras has them; sums in float, in an order that depends on the shape
// alone. Asynchronous on the launch's stream; any thread. Outputs are overwritten and are not inputs.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::DepthwiseShape;

/// y = x * weights + bias (null: none), then max(y, 0) if `relu`.
void depthwise_forward(const Launch& at, DType type, const DepthwiseShape& shape, const void* x, const float* weights,
                       const float* bias, bool relu, std::int64_t rows, void* y);

void depthwise_backward_data(const Launch& at, DType type, const DepthwiseShape& shape, const void* dy,
                             const float* weights, std::int64_t rows, void* dx);

/// Floats of workspace that depthwise_backward_weights needs, aligned to 16 bytes; suffices for fewer rows, too.
std::int64_t depthwise_workspace(DType type, const DepthwiseShape& shape, std::int64_t rows);

void depthwise_backward_weights(const Launch& at, DType type, const DepthwiseShape& shape, const void* x,
                                const void* dy, std::int64_t rows, float* workspace, float* dweights);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
