#include "kernels/cpu/frames.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {
namespace {

/// f(first channel in the order of rows, in that of steps, channels that lie together) for all frames.
template <class F>
void for_frames(const FramesShape& s, const F& f) {
  const bool whole = s.stride == s.channels;
  const int64_t parts = whole ? 1 : s.pixels, width = whole ? s.pixels * s.channels : s.channels;
  parallel_ranges(s.rows * s.steps, rows_per_piece(s.pixels * s.channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t other = i % s.steps * s.rows + i / s.steps;
      for (int64_t part = 0; part < parts; ++part)
        f(i * s.pixels * s.channels + part * s.channels, (other * s.pixels + part) * s.stride + s.offset, width);
    }
  });
}

}  // namespace

void frames_by_step(const FramesShape& shape, const float* by_row, float* by_step) {
  for_frames(shape, [&](int64_t row, int64_t step, int64_t width) {
    std::memcpy(by_step + step, by_row + row, static_cast<size_t>(width) * sizeof(float));
  });
}

void frames_by_row(const FramesShape& shape, const float* by_step, float* by_row) {
  for_frames(shape, [&](int64_t row, int64_t step, int64_t width) {
    std::memcpy(by_row + row, by_step + step, static_cast<size_t>(width) * sizeof(float));
  });
}

}  // namespace dptrain::kernels::cpu
