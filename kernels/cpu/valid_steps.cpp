#include "kernels/cpu/valid_steps.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {
namespace {

size_t row_bytes(int64_t width) { return static_cast<size_t>(width) * sizeof(float); }

}  // namespace

int64_t place_valid_steps(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* places) {
  int32_t count = 0;
  for (int64_t i = 0; i < rows * steps; ++i) places[i] = mask[i] != 0 ? count++ : -1;
  return count;
}

void order_by_length(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* order, int32_t* room) {
  int32_t *const begins = room, *const ends = room + rows;
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t *const first = mask + row * steps, *const last = first + steps;
    const auto valid = [](uint8_t step) { return step != 0; };
    const uint8_t* const begin = std::find_if(first, last, valid);
    const uint8_t* end = last;
    while (end > begin && end[-1] == 0) --end;
    order[row] = static_cast<int32_t>(row);
    begins[row] = static_cast<int32_t>(begin - first);
    ends[row] = static_cast<int32_t>(end - first);
  }
  std::sort(order, order + rows, [&](int32_t a, int32_t b) {
    if (begins[a] != begins[b]) return begins[a] < begins[b];
    if (ends[a] != ends[b]) return ends[a] > ends[b];
    return a < b;
  });
}

void gather_valid_steps(const float* from, const int32_t* places, int64_t positions, int64_t width, float* to) {
  parallel_ranges(positions, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (places[i] >= 0) std::memcpy(to + places[i] * width, from + i * width, row_bytes(width));
  });
}

void scatter_valid_steps(const float* from, const int32_t* places, int64_t positions, int64_t width, float* to) {
  parallel_ranges(positions, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (places[i] >= 0)
        std::memcpy(to + i * width, from + places[i] * width, row_bytes(width));
      else
        std::memset(to + i * width, 0, row_bytes(width));
    }
  });
}

}  // namespace dptrain::kernels::cpu
