#pragma once

// Rows of a table by number. Ids are in [0, table rows). Conventions: parallel.h.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// y[i] = table[ids[i]], rows of `width` floats.
void gather_rows(const int32_t* ids, int64_t count, const float* table, int64_t width, float* y);

/// gradient[r] = sum of dy[i] over all i with ids[i] == r, in the order of i; overwritten, zeros without such an i.
void scatter_rows(const int32_t* ids, int64_t count, const float* dy, int64_t table_rows, int64_t width,
                  float* gradient);

}  // namespace dptrain::kernels::cpu
