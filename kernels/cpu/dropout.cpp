#include "kernels/cpu/dropout.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/dropout-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Processes whole groups of 4 kLanes elements of a row; returns the number of elements processed.
HWY_INLINE int64_t drop_groups(const Dropout& dropout, const Keep& keep, uint32_t row, const float* x, int64_t width,
                               float* y) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
    WordVec c[4];
    draw_groups(dropout, row, static_cast<uint32_t>(i / 4), c);
    Vec v0, v1, v2, v3;
    hn::LoadInterleaved4(kFloats, x + i, v0, v1, v2, v3);
    hn::StoreInterleaved4(drop(keep, c[0], v0), drop(keep, c[1], v1), drop(keep, c[2], v2), drop(keep, c[3], v3),
                          kFloats, y + i);
  }
  return i;
}

#else

HWY_INLINE int64_t drop_groups(const Dropout&, const Keep&, uint32_t, const float*, int64_t, float*) { return 0; }

#endif

void drop_row(const Dropout& dropout, int64_t row, const float* x, int64_t width, float* y) {
  const Keep keep(dropout.rate);
  const uint32_t counter_row = static_cast<uint32_t>(dropout.first_row + row);
  for (int64_t i = drop_groups(dropout, keep, counter_row, x, width, y); i < width; i += 4) {
    const PhiloxBlock block = drawn_words(dropout, counter_row, static_cast<uint32_t>(i / 4));
    for (int64_t k = 0; k < 4 && i + k < width; ++k)
      y[i + k] = (block.word[k] >> 8) >= keep.threshold ? x[i + k] * keep.factor : 0.0F;
  }
}

/// One line along the innermost axis: y = x factors[i], or x factors[0] if `one_factor`; 0 where the factor is 0.
void scale_line(const float* factors, bool one_factor, const float* x, int64_t n, float* y) {
  const auto scaled = [](Vec v, Vec factor) HWY_ATTR {
    return hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(kFloats)), hn::Mul(v, factor));
  };
  if (!one_factor) return map(n, y, scaled, x, factors);
  const Vec factor = splat(*factors);
  map(
      n, y, [=](Vec v) HWY_ATTR { return scaled(v, factor); }, x);
}

/// Positions [begin, end) of all rows: y = x times the factor of its channel; 0 where the factor is 0.
void scale_channels(const float* factors, const float* x, int64_t begin, int64_t end, int64_t positions,
                    int64_t channels, float* y) {
  for (int64_t position = begin; position < end; ++position)
    map(
        channels, y + position * channels,
        [](Vec v, Vec factor)
            HWY_ATTR { return hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(kFloats)), hn::Mul(v, factor)); },
        x + position * channels, factors + position / positions * channels);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(drop_row);
HWY_EXPORT(scale_channels);
HWY_EXPORT(scale_line);

void dropout_forward(const Launch&, DType, const Dropout& dropout, const float* x, int64_t rows, int64_t width,
                     float* y) {
  parallel_ranges(rows, rows_per_piece(4 * width),
                  [&](int64_t begin, int64_t end) {  // 4: ten rounds cost more than a copy
                    for (int64_t row = begin; row < end; ++row)
                      HWY_DYNAMIC_DISPATCH(drop_row)(dropout, row, x + row * width, width, y + row * width);
                  });
}

void dropout_backward(const Launch&, DType, const Dropout& dropout, const float* dy, int64_t rows, int64_t width,
                      float* dx) {
  dropout_forward({}, DType::kF32, dropout, dy, rows, width, dx);
}

void spatial_dropout(const Launch&, DType, const Dropout& dropout, const float* x, int64_t rows, int64_t positions,
                     int64_t channels, float* factors, float* y) {
  fill(1.0F, factors, rows * channels);
  dropout_forward({}, DType::kF32, dropout, factors, rows, channels, factors);
  parallel_ranges(rows * positions, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_channels)(factors, x, begin, end, positions, channels, y);
  });
}

void broadcast_dropout(const Launch&, DType, const Dropout& dropout, const BroadcastAxes& axes, const float* x,
                       int64_t rows, float* factors, float* y) {
  Dropout numbers = dropout;
  if (axes.one_row) numbers.first_row = 0;
  const int64_t rows_of_numbers = axes.one_row ? 1 : rows;
  fill(1.0F, factors, rows_of_numbers * axes.numbers);
  dropout_forward({}, DType::kF32, numbers, factors, rows_of_numbers, axes.numbers, factors);

  const int last = axes.axes - 1;
  const int64_t length = axes.extent[last];
  int64_t lines = 1;
  for (int axis = 0; axis < last; ++axis) lines *= axes.extent[axis];
  parallel_ranges(rows * lines, rows_per_piece(length), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t row = axes.one_row ? 0 : line / lines;
      const float* const from = factors + row * axes.numbers + axes.place(line % lines * length);
      HWY_DYNAMIC_DISPATCH(scale_line)(from, axes.stride[last] == 0, x + line * length, length, y + line * length);
    }
  });
}

}  // namespace dptrain::kernels::cpu
#endif
