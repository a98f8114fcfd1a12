#pragma once

// Steps of `width` features with a mask of one byte per step (1: valid, 0: not). Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

/// mask[i] = whether any feature of step i is not `value`; y[i] = mask[i] ? x[i] : zeros.
void mask_steps(const Launch&, DType, const float* x, int64_t steps, int64_t width, float value, uint8_t* mask,
                float* y);

/// y[i] = x[i] if step i is valid, else zeros.
void keep_valid_steps(const Launch&, DType, const float* x, const uint8_t* mask, int64_t steps, int64_t width,
                      float* y);

/// y[i] = x[i] if step i is valid or `others` is given and marks it invalid; else `value`. y == x is allowed.
void fill_masked_steps(const float* x, const uint8_t* mask, const uint8_t* others, int64_t steps, int64_t width,
                       float value, float* y);

/// y[r] = mean of x[r, s] over the valid steps of row r; NaN if it has none.
void masked_mean_forward(const Launch&, DType, const float* x, const uint8_t* mask, int64_t rows, int64_t steps,
                         int64_t width, float* y);
void masked_mean_backward(const Launch&, DType, const float* dy, const uint8_t* mask, int64_t rows, int64_t steps,
                          int64_t width, float* dx);

// Packing of the valid steps of [rows, steps], so that masked steps take no time.

/// Numbers the valid steps of each row in the order of time: places[row * steps + t], or -1. Returns their number.
int64_t place_valid_steps(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* places);

/// Sorts rows with similar begins and ends together, long rows first: `order`: [rows], `scratch`: [2 rows].
void order_by_length(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* order, int32_t* scratch);

/// to[places[i]] = from[i] for the positions [0, positions) that have a place; `width` numbers each.
void gather_valid_steps(const float* from, const int32_t* places, int64_t positions, int64_t width, float* to);
/// to[i] = from[places[i]], zeros for positions without a place.
void scatter_valid_steps(const float* from, const int32_t* places, int64_t positions, int64_t width, float* to);

}  // namespace dptrain::kernels::cpu
