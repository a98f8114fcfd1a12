#pragma once

// Rows of a table by number, in any number type. Asynchronous on the launch's stream; any thread. Outputs are
// overwritten.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// y[i] = table[ids[i]], both of `type`; NaN for an id outside [0, table_rows). Where `mask` is not null, mask[i] =
/// whether ids[i] is not 0.
void gather_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* table,
                 std::int64_t table_rows, std::int64_t width, void* y, std::uint8_t* mask);

/// gradient[ids[i]] = the sum of dy[j] over all j with ids[j] == ids[i], added in the order of j in float. Rows that no
/// id names keep what they hold: zero them before.
void scatter_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* dy,
                  std::int64_t table_rows, std::int64_t width, float* gradient);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
