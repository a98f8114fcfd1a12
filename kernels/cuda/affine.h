#pragma once

// The layers Rescaling and Normalization over flat arrays. Asynchronous on the launch's stream; any thread.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_GPU {

/// y = x scale + offset, in float. y == x allowed. The gradient is the same with offset 0.
void scale_offset(const Launch& at, DType type, const void* x, float scale, float offset, void* y, std::int64_t n);

/// y = (x - shift) scale + offset, in float, of n numbers whose channels, the innermost, each have a shift, a scale and
/// an offset. y == x allowed.
void channel_affine(const Launch& at, DType type, const void* x, const float* shift, const float* scale,
                    const float* offset, std::int64_t n, std::int64_t channels, void* y);

}  // namespace dptrain::kernels::DPTRAIN_GPU
