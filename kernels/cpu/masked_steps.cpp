#include "kernels/cpu/masked_steps.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {
namespace {

float valid_steps(const uint8_t* mask, int64_t steps) {
  int64_t count = 0;
  for (int64_t s = 0; s < steps; ++s) count += mask[s];
  return static_cast<float>(count);
}

size_t row_bytes(int64_t width) { return static_cast<size_t>(width) * sizeof(float); }

}  // namespace

void mask_steps(const Launch&, DType, const float* x, int64_t steps, int64_t width, float value, uint8_t* mask,
                float* y) {
  parallel_ranges(steps, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const step = x + i * width;
      const bool valid = std::any_of(step, step + width, [&](float feature) { return feature != value; });
      mask[i] = valid ? 1 : 0;
      if (valid)
        std::copy_n(step, width, y + i * width);
      else
        std::fill_n(y + i * width, width, 0.0F);
    }
  });
}

void keep_valid_steps(const Launch&, DType, const float* x, const uint8_t* mask, int64_t steps, int64_t width,
                      float* y) {
  parallel_ranges(steps, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (mask[i] != 0)
        std::copy_n(x + i * width, width, y + i * width);
      else
        std::fill_n(y + i * width, width, 0.0F);
    }
  });
}

void fill_masked_steps(const float* x, const uint8_t* mask, const uint8_t* others, int64_t steps, int64_t width,
                       float value, float* y) {
  parallel_ranges(steps, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (mask[i] == 0 && (others == nullptr || others[i] != 0))
        std::fill_n(y + i * width, width, value);
      else if (x != y)
        std::copy_n(x + i * width, width, y + i * width);
    }
  });
}

void masked_mean_forward(const Launch&, DType, const float* x, const uint8_t* mask, int64_t rows, int64_t steps,
                         int64_t width, float* y) {
  parallel_ranges(rows, rows_per_piece(steps * width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* const mean = y + r * width;
      std::fill_n(mean, width, 0.0F);
      for (int64_t s = 0; s < steps; ++s) {
        if (mask[r * steps + s] == 0) continue;
        const float* const step = x + (r * steps + s) * width;
        for (int64_t c = 0; c < width; ++c) mean[c] += step[c];
      }
      const float valid = valid_steps(mask + r * steps, steps);
      for (int64_t c = 0; c < width; ++c) mean[c] /= valid;
    }
  });
}

void masked_mean_backward(const Launch&, DType, const float* dy, const uint8_t* mask, int64_t rows, int64_t steps,
                          int64_t width, float* dx) {
  parallel_ranges(rows, rows_per_piece(steps * width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float valid = valid_steps(mask + r * steps, steps);
      for (int64_t s = 0; s < steps; ++s) {
        float* const step = dx + (r * steps + s) * width;
        if (mask[r * steps + s] == 0)
          std::fill_n(step, width, 0.0F);
        else
          for (int64_t c = 0; c < width; ++c) step[c] = dy[r * width + c] / valid;
      }
    }
  });
}

int64_t place_valid_steps(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* places) {
  int32_t count = 0;
  for (int64_t i = 0; i < rows * steps; ++i) places[i] = mask[i] != 0 ? count++ : -1;
  return count;
}

void order_by_length(const uint8_t* mask, int64_t rows, int64_t steps, int32_t* order, int32_t* scratch) {
  int32_t *const begins = scratch, *const ends = scratch + rows;
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
