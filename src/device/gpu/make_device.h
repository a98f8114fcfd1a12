#pragma once

// What the backends (device/cuda, device/emu) build their devices with. Any thread.

#include <memory>

#include "device/device.h"
#include "device/gpu/convolution.h"
#include "device/gpu/runtime.h"

namespace dptrain::device::emu {
std::unique_ptr<Device> make_gpu_device(std::shared_ptr<gpu::Runtime> runtime,
                                        std::unique_ptr<gpu::ConvolutionMaker> convolutions,
                                        const RuntimeOptions& options);
}

namespace dptrain::device::cuda {
std::unique_ptr<Device> make_gpu_device(std::shared_ptr<gpu::Runtime> runtime,
                                        std::unique_ptr<gpu::ConvolutionMaker> convolutions,
                                        const RuntimeOptions& options);
}
