#pragma once

// Between a volume and the slabs that windows along its depth see of it (kernels/geometry.h), so that a convolution
// over volumes is one over images. May be called from any thread; work is shared among the caller's threads. Outputs
// are overwritten and are not inputs; each number is computed by itself.

#include <cstdint>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

using kernels::DepthWindow;

void gather_slabs(const DepthWindow& window, const float* volume, int64_t rows, float* slabs);

/// Every frame = the sum of the slabs that it is, in order of their windows; zero where it is none.
void sum_slabs(const DepthWindow& window, const float* slabs, int64_t rows, float* volume);

}  // namespace dptrain::kernels::cpu
