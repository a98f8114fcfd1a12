#pragma once

// Steps of `width` features with a mask of bytes (1: valid, 0: not). Sums are float, in order.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// mask[i] = whether any feature of step i differs from `value`; y[i] = x[i] if so, else zeros.
void mask_steps(const Launch& at, DType type, const void* x, std::int64_t steps, std::int64_t width, float value,
                std::uint8_t* mask, void* y);

/// y[i] = x[i] if step i is valid, else zeros.
void keep_valid_steps(const Launch& at, DType type, const void* x, const std::uint8_t* mask, std::int64_t steps,
                      std::int64_t width, void* y);

/// y[i] = x[i] if step i is valid or, with `others`, `others` is not; else `value`. y may be x.
void fill_masked_steps(const Launch& at, DType type, const void* x, const std::uint8_t* mask,
                       const std::uint8_t* others, std::int64_t steps, std::int64_t width, float value, void* y);

/// y[r] = mean of x[r, s] over the valid steps of row r; NaN if there is none.
void masked_mean_forward(const Launch& at, DType type, const void* x, const std::uint8_t* mask, std::int64_t rows,
                         std::int64_t steps, std::int64_t width, void* y);
void masked_mean_backward(const Launch& at, DType type, const void* dy, const std::uint8_t* mask, std::int64_t rows,
                          std::int64_t steps, std::int64_t width, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
