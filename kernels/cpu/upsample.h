#pragma once

// Upsampling and resizing of NHWC images. May be called from any thread; work is shared among the caller's threads.
// Outputs are overwritten and are not inputs. Each number is computed independently, so results depend on nothing but
// the inputs.

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void upsample_forward(const Launch&, DType, const UpsampleShape& shape, const float* x, int64_t rows, float* y);
void upsample_backward(const Launch&, DType, const UpsampleShape& shape, const float* dy, int64_t rows, float* dx);

}  // namespace dptrain::kernels::cpu
