#pragma once

// The valid steps of [rows, steps], by a mask of bytes (0: left out), put one behind the other: what is computed of
// them costs nothing for the others. Any thread; copies are shared among the caller's threads. Outputs are overwritten.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// Numbers the valid steps, row by row as they stand in time: places[row * steps + t], -1 for one that is left out.
/// Gives how many they are.
int64_t place_valid_steps(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* places);

/// Rows such that those that begin and end at like steps are neighbours, and long ones in front: `order` [rows], a
/// function of the mask alone. `room`: [2 rows].
void order_by_length(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* order, int32_t* room);

/// to[places[i]] = from[i], of the positions [0, positions) that have a place; `width` numbers each.
void gather_valid_steps(const float* from, const int32_t* places, int64_t positions, int64_t width, float* to);
/// to[i] = from[places[i]], zeros where there is no place.
void scatter_valid_steps(const float* from, const int32_t* places, int64_t positions, int64_t width, float* to);

}  // namespace dptrain::kernels::cpu
