#pragma once

// Rows of a table by id.

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// y[i] = table[ids[i]], both of `type`; NaN for ids outside [0, table_rows). mask[i] (may be null) = (ids[i] != 0).
void gather_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* table,
                 std::int64_t table_rows, std::int64_t width, void* y, std::uint8_t* mask);

/// gradient[ids[i]] = sum of dy[j] with ids[j] == ids[i], in float in the order of j. Other rows are not written.
/// `workspace`: scatter_rows_workspace() bytes, which do not decrease with count, aligned to 8. count < 2^32.
std::uint64_t scatter_rows_workspace(std::int64_t count);
void scatter_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* dy,
                  std::int64_t table_rows, std::int64_t width, void* workspace, float* gradient);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
