#pragma once

// Copies frames from the order of rows to the order of steps, and back (FramesShape). May be called from any thread;
// work is shared among the caller's threads. An output must not be an input. Elements of by_step that belong to no
// frame are not written.

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void frames_by_step(const FramesShape& shape, const float* by_row, float* by_step);
void frames_by_row(const FramesShape& shape, const float* by_step, float* by_row);

}  // namespace dptrain::kernels::cpu
