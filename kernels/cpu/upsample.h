#pragma once

// Upsampling and resizing of NHWC images. Each number is computed independently. Conventions: parallel.h.

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void upsample_forward(const Launch&, DType, const UpsampleShape& shape, const float* x, int64_t rows, float* y);
void upsample_backward(const Launch&, DType, const UpsampleShape& shape, const float* dy, int64_t rows, float* dx);

}  // namespace dptrain::kernels::cpu
