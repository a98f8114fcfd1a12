#pragma once

// Frames from the order of rows to that of steps, and back. May be called from any thread; work is shared among the
// caller's threads. Outputs are not inputs; what lies between the channels is left alone.

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void frames_by_step(const FramesShape& shape, const float* by_row, float* by_step);
void frames_by_row(const FramesShape& shape, const float* by_step, float* by_row);

}  // namespace dptrain::kernels::cpu
