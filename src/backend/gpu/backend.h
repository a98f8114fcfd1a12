#pragma once

// Every .cpp of this folder is compiled twice: for GPUs (namespace backend::cuda) and for the emulator (backend::emu).
// This is what they call the kernels of their side, and which device kind they register for.

#include "backend/device.h"
#include "kernels/cuda/launch.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

namespace kernel = ::dptrain::kernels::DPTRAIN_BACKEND;

inline constexpr DeviceKind kKind = DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND) ? DeviceKind::kEmu : DeviceKind::kCuda;

}  // namespace dptrain::backend::DPTRAIN_BACKEND
