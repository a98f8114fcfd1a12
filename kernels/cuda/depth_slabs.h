#pragma once

// Conversion between a volume and the slabs of windows along its depth (kernels/geometry.h), which turns a convolution
// over volumes into one over images. Outputs must not overlap inputs. Sums gather in a fixed order.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::DepthWindow;

void gather_slabs(const Launch& at, DType type, const DepthWindow& window, const void* volume, std::int64_t rows,
                  void* slabs);

/// Each frame = the sum, in float, of its slabs in the order of windows; zero if no window contains it.
void sum_slabs(const Launch& at, DType type, const DepthWindow& window, const void* slabs, std::int64_t rows,
               void* volume);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
