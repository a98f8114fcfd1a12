#pragma once

// Pooling of [rows, in_h, in_w, channels] to [rows, out_h, out_w, channels] and back. Outputs must not overlap inputs.
// Gradients gather from the windows that cover a position, in order and without atomics, so results are reproducible.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::kMaxPoolWindow;
using kernels::PoolWindow;

/// y = largest value of each window; argmax (size of y, may be null in evaluation) = kh * kernel_w + kw of the first
/// one. As in kernels/cpu, NaN propagates if it is the first of its window, and is ignored otherwise.
void max_pool_forward(const Launch& at, DType type, const PoolWindow& window, const void* x, std::int64_t rows, void* y,
                      std::uint8_t* argmax);

/// dx = dy at the positions in argmax, zero elsewhere. With `output` (the forward y), dy is taken as zero where output
/// <= 0: the gradient of a ReLU before the pooling.
void max_pool_backward(const Launch& at, DType type, const PoolWindow& window, const void* dy,
                       const std::uint8_t* argmax, const void* output, std::int64_t rows, void* dx);

void avg_pool_forward(const Launch& at, DType type, const PoolWindow& window, const void* x, std::int64_t rows,
                      void* y);
void avg_pool_backward(const Launch& at, DType type, const PoolWindow& window, const void* dy, std::int64_t rows,
                       void* dx);

/// [rows, spatial, channels] to [rows, channels] and back.
void global_avg_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t spatial,
                        std::int64_t channels, void* y);
void global_avg_backward(const Launch& at, DType type, const void* dy, std::int64_t rows, std::int64_t spatial,
                         std::int64_t channels, void* dx);

/// argmax (size of y, may be null in evaluation) = spatial position of the first largest value.
void global_max_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t spatial,
                        std::int64_t channels, void* y, std::int32_t* argmax);
void global_max_backward(const Launch& at, DType type, const void* dy, const std::int32_t* argmax, std::int64_t rows,
                         std::int64_t spatial, std::int64_t channels, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
