#pragma once

// Converts volumes to and from the slabs that their windows read (kernels/geometry.h). Conventions: parallel.h.

#include <cstdint>

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

using kernels::DepthWindow;

void gather_slabs(const DepthWindow& window, const float* volume, int64_t rows, float* slabs);

/// Each frame of the volume = the sum of its slabs, in the order of the windows; zero if it has none.
void sum_slabs(const DepthWindow& window, const float* slabs, int64_t rows, float* volume);

}  // namespace dptrain::kernels::cpu
