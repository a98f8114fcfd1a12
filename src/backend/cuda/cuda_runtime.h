#pragma once

// The GPU device's runtime on the CUDA runtime API. That is linked statically and opens the driver itself, so the
// executable also starts on machines without a driver. Does not need cuDNN.

#include <memory>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

/// The runtime of GPU `id`, counted by PCI bus number among the GPUs in CUDA_VISIBLE_DEVICES. The process has one
/// object per id, which callers share. No other GPU is used. Throws Error{kDevice} if there is no driver or no such
/// GPU.
std::shared_ptr<gpu::Runtime> make_cuda_runtime(int id);

}  // namespace dptrain::backend::cuda
