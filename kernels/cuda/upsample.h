#pragma once

// Upsampling of [rows, h, w, channels], in float. Outputs must not overlap inputs. Gradients gather, in order.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::fits_32_bits;
using kernels::UpsampleAxis;
using kernels::UpsampleAxisOf;
using kernels::UpsampleShape;

void upsample_forward(const Launch& at, DType type, const UpsampleShape& shape, const void* x, std::int64_t rows,
                      void* y);
void upsample_backward(const Launch& at, DType type, const UpsampleShape& shape, const void* dy, std::int64_t rows,
                       void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
