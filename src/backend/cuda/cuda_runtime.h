#pragma once

// gpu::Runtime with the CUDA runtime, which is linked statically: the executable also starts without a driver.

#include <memory>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

/// The runtime of GPU `id`, by PCI bus number among those in CUDA_VISIBLE_DEVICES; uses no other GPU. The process has
/// one shared object per id. Throws Error{kDevice} if there is no driver or no such GPU.
std::shared_ptr<gpu::Runtime> make_cuda_runtime(int id);

}  // namespace dptrain::backend::cuda
