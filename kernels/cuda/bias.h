#pragma once

// The bias over [rows, channels]; rows are all positions of all samples. The order of sums depends only on the shape.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// y[row, c] = x[row, c] + bias[c]; bias in float. y == x allowed.
void bias_add(const Launch& at, DType type, const void* x, const float* bias, std::int64_t rows, std::int64_t channels,
              void* y);

/// Floats of workspace for the gradients, aligned to 16 bytes.
std::int64_t bias_gradient_workspace(std::int64_t rows, std::int64_t channels);

/// gradient[c] = sum over rows of dy[row, c].
void bias_gradient(const Launch& at, DType type, const void* dy, std::int64_t rows, std::int64_t channels,
                   float* workspace, float* gradient);

/// dy = (y > 0 ? dy : 0) in place, the gradient of a ReLU, fused with bias_gradient.
void relu_bias_gradient(const Launch& at, DType type, const void* y, void* dy, std::int64_t rows, std::int64_t channels,
                        float* workspace, float* gradient);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
