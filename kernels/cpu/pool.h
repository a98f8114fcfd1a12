#pragma once

// Pooling of [rows, in_h, in_w, channels] to [rows, out_h, out_w, channels]. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

using kernels::kMaxPoolWindow;
using kernels::PoolWindow;

/// y = largest value of each window; argmax (size of y, may be null) = kh * kernel_w + kw of the first one.
void max_pool_forward(const Launch&, DType, const PoolWindow& window, const float* x, int64_t rows, float* y,
                      uint8_t* argmax);

/// dx = dy at the positions in argmax, zero elsewhere. If `output` (y of forward) is given, dy counts as zero at output
/// <= 0: the gradient of a preceding ReLU in the same pass.
void max_pool_backward(const Launch&, DType, const PoolWindow& window, const float* dy, const uint8_t* argmax,
                       const float* output, int64_t rows, float* dx);

void avg_pool_forward(const Launch&, DType, const PoolWindow& window, const float* x, int64_t rows, float* y);
void avg_pool_backward(const Launch&, DType, const PoolWindow& window, const float* dy, int64_t rows, float* dx);

/// From [rows, spatial, channels] to [rows, channels], and its gradient.
void global_avg_forward(const Launch&, DType, const float* x, int64_t rows, int64_t spatial, int64_t channels,
                        float* y);
void global_avg_backward(const Launch&, DType, const float* dy, int64_t rows, int64_t spatial, int64_t channels,
                         float* dx);

/// argmax (size of y, may be null) = spatial position of the first largest value.
void global_max_forward(const Launch&, DType, const float* x, int64_t rows, int64_t spatial, int64_t channels, float* y,
                        int32_t* argmax);
void global_max_backward(const Launch&, DType, const float* dy, const int32_t* argmax, int64_t rows, int64_t spatial,
                         int64_t channels, float* dx);

}  // namespace dptrain::kernels::cpu
