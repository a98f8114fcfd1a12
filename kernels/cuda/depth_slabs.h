#pragma once

// Between a volume and the slabs that windows along its depth see of it (kernels/geometry.h), so that a convolution
// over volumes is one over images. Asynchronous on the launch's stream; any thread. Outputs are overwritten and are not
// inputs. Sums gather, in order.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::DepthWindow;

void gather_slabs(const Launch& at, DType type, const DepthWindow& window, const void* volume, std::int64_t rows,
                  void* slabs);

/// Every frame = the sum of the slabs that it is, in order of their windows; zero where it is none. In float.
void sum_slabs(const Launch& at, DType type, const DepthWindow& window, const void* slabs, std::int64_t rows,
               void* volume);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
