#pragma once

// Losses of which some positions do not count. Everything lies in device memory and is queued on the launch's stream.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Gradients ([rows, width] in `type`) of rows whose mask is 0 become zero, all others *scale times themselves.
void leave_out(const Launch& at, DType type, const std::uint8_t* mask, std::int64_t rows, std::int64_t width,
               const float* scale, void* gradient);

/// *valid += the ones among n bytes that are 1 or 0.
void count_valid(const Launch& at, const std::uint8_t* mask, std::int64_t n, double* valid);

/// *scale = positions / (valid[0] + valid[stride] + ... of all ranks + epsilon).
void mask_scale(const Launch& at, const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                float* scale);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
