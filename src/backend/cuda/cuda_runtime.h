#pragma once

// The GPU device's runtime on the CUDA runtime API. That is linked statically and opens the driver itself, so the
// executable also starts on machines without a driver. Does not need cuDNN.

#include <memory>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

/// The runtime of GPU `id`, by PCI bus number among those in CUDA_VISIBLE_DEVICES; uses no other GPU. The process has
/// one shared object per id. Throws Error{kDevice} if there is no driver or no such GPU.
std::shared_ptr<gpu::Runtime> make_cuda_runtime(int id);

}  // namespace dptrain::backend::cuda
