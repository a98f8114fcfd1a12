#include "backend/device.h"
#include "backend/emu/emu_convolution.h"
#include "backend/emu/emu_runtime.h"
#include "backend/gpu/make_device.h"

namespace dptrain::backend {

std::unique_ptr<Device> make_emu_device(int id, const RuntimeOptions& options) {
  return emu::make_gpu_device(emu::make_emu_runtime(id), std::make_unique<emu::EmuConvolutionMaker>(), options);
}

}  // namespace dptrain::backend
