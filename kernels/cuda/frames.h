#pragma once

// Frames from the order of rows to that of steps, and back. Asynchronous on the launch's stream; any thread. Outputs
// are not inputs; what lies between the channels is left alone.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

void frames_by_step(const Launch& at, DType type, const FramesShape& shape, const void* by_row, void* by_step);
void frames_by_row(const Launch& at, DType type, const FramesShape& shape, const void* by_step, void* by_row);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
