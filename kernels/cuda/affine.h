#pragma once

// The layers Rescaling, Normalization and LayerScale over flat arrays.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// y = x scale + offset, in float. y == x allowed. The gradient is the same pass with offset 0.
void scale_offset(const Launch& at, DType type, const void* x, float scale, float offset, void* y, std::int64_t n);

/// y = (x - shift) scale + offset, in float, with values per channel (the innermost axis). y == x allowed.
void channel_affine(const Launch& at, DType type, const void* x, const float* shift, const float* scale,
                    const float* offset, std::int64_t n, std::int64_t channels, void* y);

/// Computes the arguments of channel_affine(): `numbers` [4, channels] is shift, scale, offset, and zeros for the
/// gradient. y = (x - mean) / max(sqrt(variance), 1e-7) or, with `invert`, y = x max(sqrt(variance), 1e-7) + mean.
void normalization_numbers(const Launch& at, const float* mean, const float* variance, std::int64_t channels,
                           bool invert, float* numbers);

/// y[row, c] = x[row, c] scale[c], in float. y == x allowed.
void channel_scale(const Launch& at, DType type, const void* x, const float* scale, std::int64_t rows,
                   std::int64_t channels, void* y);

/// Floats of workspace for channel_scale_gradient, aligned to 16 bytes. Does not decrease with rows.
std::int64_t channel_scale_workspace(std::int64_t rows, std::int64_t channels);

/// gradient[c] = sum over rows of x[row, c] dy[row, c], in an order that depends only on the shape.
void channel_scale_gradient(const Launch& at, DType type, const void* x, const void* dy, std::int64_t rows,
                            std::int64_t channels, float* workspace, float* gradient);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
