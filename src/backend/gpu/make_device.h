#pragma once

// Factories of GPU devices for the backends (backend/cuda, backend/emu). Any thread.

#include <memory>

#include "backend/device.h"
#include "backend/gpu/convolution.h"
#include "backend/gpu/runtime.h"

namespace dptrain::backend::emu {
std::unique_ptr<Device> make_gpu_device(std::shared_ptr<gpu::Runtime> runtime,
                                        std::unique_ptr<gpu::ConvolutionMaker> convolutions,
                                        const RuntimeOptions& options);
}

namespace dptrain::backend::cuda {
std::unique_ptr<Device> make_gpu_device(std::shared_ptr<gpu::Runtime> runtime,
                                        std::unique_ptr<gpu::ConvolutionMaker> convolutions,
                                        const RuntimeOptions& options);
}
