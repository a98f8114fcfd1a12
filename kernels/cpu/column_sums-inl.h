// Column sums of [rows, columns].

#if defined(DPTRAIN_KERNELS_CPU_COLUMN_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_COLUMN_SUMS_INL_H
#undef DPTRAIN_KERNELS_CPU_COLUMN_SUMS_INL_H
#else
#define DPTRAIN_KERNELS_CPU_COLUMN_SUMS_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Rows added in sequence before their sum is added to the total: bounds the rounding error of long chains.
inline constexpr int64_t kSumChain = 256;

/// sums[c] += x[row, c], row after row, for at least a vector of columns.
HWY_INLINE void add_wide_rows(const float* x, int64_t rows, int64_t columns, float* sums) {
  sweep_columns(columns, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    Vec sum[kVectors];
    for (int k = 0; k < kVectors; ++k) sum[k] = hn::Zero(kFloats);
    const float* p = x + c;
    for (int64_t row = 0; row < rows; ++row, p += columns)
      for (int k = 0; k < kVectors; ++k) sum[k] = hn::Add(sum[k], io.load(p + k * kLanes));
    for (int k = 0; k < kVectors; ++k) {
      float* out = sums + c + k * kLanes;
      io.store(hn::Add(io.load(out), sum[k]), out);
    }
  });
}

/// sums[c] += x[row, c] for fewer columns than lanes: kLanes rows are `columns` whole vectors. Lane i of vector k
/// always belongs to column (k kLanes + i) % columns.
HWY_INLINE void add_narrow_rows(const float* x, int64_t rows, int64_t columns, float* sums) {
  HWY_ALIGN float lanes[kLanes * kLanes] = {};
  const int64_t period = kLanes * columns;
  int64_t row = 0;
  for (; row + kLanes <= rows; row += kLanes, x += period) {
    for (int64_t i = 0; i < period; i += kLanes)
      hn::Store(hn::Add(hn::Load(kFloats, lanes + i), hn::LoadU(kFloats, x + i)), kFloats, lanes + i);
  }
  for (int64_t i = 0; i < period; ++i) sums[i % columns] += lanes[i];
  for (int64_t i = 0; i < (rows - row) * columns; ++i) sums[i % columns] += x[i];
}

HWY_INLINE void column_sums(const float* x, int64_t rows, int64_t columns, float* sums) {
  std::memset(sums, 0, static_cast<size_t>(columns) * sizeof(float));
  const int64_t chain = columns < kLanes ? kSumChain * kLanes : kSumChain;
  for (int64_t row = 0; row < rows; row += chain) {
    const int64_t count = std::min(chain, rows - row);
    if (columns < kLanes)
      add_narrow_rows(x + row * columns, count, columns, sums);
    else
      add_wide_rows(x + row * columns, count, columns, sums);
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
