#pragma once

// Copies frames from the order of rows to the order of steps, and back (FramesShape). Asynchronous on the launch's
// stream; any thread. An output must not be an input. Elements of by_step that belong to no frame are not written.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

void frames_by_step(const Launch& at, DType type, const FramesShape& shape, const void* by_row, void* by_step);
void frames_by_row(const Launch& at, DType type, const FramesShape& shape, const void* by_step, void* by_row);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
