#pragma once

// The GPU device's runtime on the CUDA runtime API, which is linked statically and opens the driver itself: an
// executable with it starts on machines without one. Nothing here needs cuDNN.

#include <memory>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::cuda {

/// The runtime of GPU `id`, in the order of PCI bus numbers among the GPUs that CUDA_VISIBLE_DEVICES shows. One object
/// per id exists in the process. Callers share it while it exists. No other GPU is used. Throws Error{kDevice} if there
/// is no driver or no such GPU.
std::shared_ptr<gpu::Runtime> make_cuda_runtime(int id);

}  // namespace dptrain::backend::cuda
