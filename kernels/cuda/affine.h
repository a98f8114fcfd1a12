#pragma once

// The layer Rescaling over flat arrays. Asynchronous on the launch's stream; any thread.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_GPU {

/// y = x scale + offset, in float. y == x allowed. The gradient is the same with offset 0.
void scale_offset(const Launch& at, DType type, const void* x, float scale, float offset, void* y, std::int64_t n);

}  // namespace dptrain::kernels::DPTRAIN_GPU
