#include "kernels/cpu/few_rows.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/workspace.h"

#ifndef DPTRAIN_KERNELS_CPU_FEW_ROWS_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_FEW_ROWS_ONCE
namespace dptrain::kernels::cpu {

struct FewRows {
  const float *x, *matrix;
  int64_t width, lines;
  float* y;
  const float* bias = nullptr;
};

/// Columns of a piece of rows_times_matrix(): long parts are read faster; the maximum keeps the sums in the L2 cache.
inline constexpr int64_t kMinColumns = 128, kMaxColumns = 4096;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/few_rows.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Rows and lines whose products are summed at once: as many sums as there are registers.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr int kRowsAtOnce = 8;
#else
inline constexpr int kRowsAtOnce = 4;
#endif
inline constexpr int kLinesAtOnce = 2;

/// Floats of the rows in a block of columns, which is multiplied with all lines of a piece before the next: 32 KiB.
inline constexpr int64_t kFewRowsBlock = 8192;

/// Adds the products of `n` elements from `at` on, kRows rows from `row` on times kLines lines from `line` on; `at` 0
/// overwrites the sums. Prefetches the lines that follow.
template <int kRows, int kLines>
HWY_INLINE void add_dots(const FewRows& a, int64_t row, int64_t line, int64_t at, int64_t n) {
  const int64_t width = a.width;
  const float *const x = a.x + row * width + at, *const m = a.matrix + line * width + at;
  Vec sum[kLines][kRows];
  _Pragma("GCC unroll 8") for (int l = 0; l < kLines; ++l) _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r)
      sum[l][r] = hn::Zero(kFloats);
  sweep(n, [&](int64_t i, auto io) HWY_ATTR {
    Vec of_line[kLines];
    _Pragma("GCC unroll 8") for (int l = 0; l < kLines; ++l) {
      of_line[l] = io.load(m + l * width + i);
      __builtin_prefetch(m + (kLines + l) * width + i, 0, 2);
    }
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      const Vec of_row = io.load(x + r * width + i);
      _Pragma("GCC unroll 8") for (int l = 0; l < kLines; ++l) sum[l][r] = hn::MulAdd(of_row, of_line[l], sum[l][r]);
    }
  });
  for (int r = 0; r < kRows; ++r)
    for (int l = 0; l < kLines; ++l) {
      float& to = a.y[(row + r) * a.lines + line + l];
      to = sum_lanes(sum[l][r]) + (at > 0 ? to : 0.0F);
    }
}

template <int kRows>
HWY_INLINE void add_lines(const FewRows& a, int64_t row, int64_t begin, int64_t end, int64_t at, int64_t n) {
  int64_t line = begin;
  for (; line + kLinesAtOnce <= end; line += kLinesAtOnce) add_dots<kRows, kLinesAtOnce>(a, row, line, at, n);
  for (; line < end; ++line) add_dots<kRows, 1>(a, row, line, at, n);
}

void rows_times_lines_piece(const FewRows& a, int64_t rows, int64_t begin, int64_t end) {
  const int64_t block = std::max<int64_t>(kLanes, kFewRowsBlock / rows / kLanes * kLanes);
  for (int64_t at = 0; at < a.width; at += block) {
    const int64_t n = std::min(block, a.width - at);
    int64_t row = 0;
    for (; row + kRowsAtOnce <= rows; row += kRowsAtOnce) add_lines<kRowsAtOnce>(a, row, begin, end, at, n);
    for (; row + 4 <= rows; row += 4) add_lines<4>(a, row, begin, end, at, n);
    for (; row + 2 <= rows; row += 2) add_lines<2>(a, row, begin, end, at, n);
    for (; row < rows; ++row) add_lines<1>(a, row, begin, end, at, n);
  }
}

/// Lines whose products are added to a sum before it is stored.
inline constexpr int kLinesOfSum = 8;

/// Adds the products of `count` lines from `line` on with kRows rows from `row` on to kVectors vectors of sums from
/// column c on, which start with the bias. Prefetches the lines that follow.
template <int kRows, int kVectors, class Io>
HWY_INLINE void add_products(const FewRows& a, int64_t row, int64_t line, int64_t count, int64_t c, Io io) {
  const float *const x = a.x + row * a.lines + line, *m = a.matrix + line * a.width + c;
  float* const y = a.y + row * a.width + c;
  Vec sum[kRows][kVectors];
  _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
    if (line > 0)
      sum[r][v] = io.load(y + r * a.width + v * kLanes);
    else
      sum[r][v] = a.bias == nullptr ? hn::Zero(kFloats) : io.load(a.bias + c + v * kLanes);
  }
  for (int64_t l = 0; l < count; ++l, m += a.width) {
    Vec of_line[kVectors];
    _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) {
      of_line[v] = io.load(m + v * kLanes);
      __builtin_prefetch(m + kLinesOfSum * a.width + v * kLanes, 0, 2);
    }
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      const Vec of_row = splat(x[r * a.lines + l]);
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(of_row, of_line[v], sum[r][v]);
    }
  }
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v)
      io.store(sum[r][v], y + r * a.width + v * kLanes);
}

template <int kRows>
HWY_INLINE void add_matrix(const FewRows& a, int64_t row, int64_t line, int64_t count, int64_t begin, int64_t end) {
  int64_t c = begin;
  for (; c + 2 * kLanes <= end; c += 2 * kLanes) add_products<kRows, 2>(a, row, line, count, c, Whole{});
  if (c + kLanes <= end) {
    add_products<kRows, 1>(a, row, line, count, c, Whole{});
    c += kLanes;
  }
  if (c < end) add_products<kRows, 1>(a, row, line, count, c, Partial{end - c});
}

void rows_times_matrix_piece(const FewRows& a, int64_t rows, int64_t begin, int64_t end) {
  for (int64_t line = 0; line < a.lines; line += kLinesOfSum) {
    const int64_t count = std::min<int64_t>(kLinesOfSum, a.lines - line);
    int64_t row = 0;
    for (; row + kRowsAtOnce <= rows; row += kRowsAtOnce) add_matrix<kRowsAtOnce>(a, row, line, count, begin, end);
    for (; row + 4 <= rows; row += 4) add_matrix<4>(a, row, line, count, begin, end);
    for (; row + 2 <= rows; row += 2) add_matrix<2>(a, row, line, count, begin, end);
    for (; row < rows; ++row) add_matrix<1>(a, row, line, count, begin, end);
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(rows_times_lines_piece);
HWY_EXPORT(rows_times_matrix_piece);

void rows_times_matrix(const float* x, int64_t rows, const float* matrix, const float* bias, int64_t lines,
                       int64_t width, float* y) {
  const int64_t size = std::clamp(pieces_of(width, thread_count()), kMinColumns, kMaxColumns);
  parallel_ranges(width, even_block(size, width, 16), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(rows_times_matrix_piece)({x, matrix, width, lines, y, bias}, rows, begin, end);
  });
}

void rows_times_lines(const float* x, int64_t rows, const float* matrix, int64_t lines, int64_t width, float* y) {
  parallel_ranges(lines, std::max<int64_t>(16, rows_per_piece(width)), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(rows_times_lines_piece)({x, matrix, width, lines, y}, rows, begin, end);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
