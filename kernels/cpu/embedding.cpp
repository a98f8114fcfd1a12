#include "kernels/cpu/embedding.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {

void gather_rows(const int32_t* ids, int64_t count, const float* table, int64_t width, float* y) {
  parallel_ranges(count, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::copy_n(table + ids[i] * width, width, y + i * width);
  });
}

void scatter_rows(const int32_t* ids, int64_t count, const float* dy, int64_t table_rows, int64_t width,
                  float* gradient) {
  // A piece has exclusive access to some columns of all rows: no data races, and sums in the order of i.
  constexpr int64_t kColumns = 16;
  parallel_ranges(width, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < table_rows; ++r) std::fill(gradient + r * width + begin, gradient + r * width + end, 0.0F);
    for (int64_t i = 0; i < count; ++i) {
      const float* const from = dy + i * width;
      float* const to = gradient + ids[i] * width;
      for (int64_t c = begin; c < end; ++c) to[c] += from[c];
    }
  });
}

}  // namespace dptrain::kernels::cpu
