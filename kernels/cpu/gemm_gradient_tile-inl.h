// The product of a weight gradient in registers: C[rows][columns] (+)= A' B over a chunk of positions. A is packed in
// panels [position][rows of the tile] that stay in the L1 cache, B in blocks [position][kSumColumns] that are read from
// the L2 cache. The sum of an element is one chain of multiply-adds in the order of the positions.

#if defined(DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_TILE_INL_H
#undef DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_TILE_INL_H
#else
#define DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_TILE_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

inline constexpr int kSumRows = kTallRows, kSumVectors = kTileVectors;
inline constexpr int64_t kSumColumns = kSumVectors * kLanes;

/// Prefetched into the L2 cache while a tile is multiplied: floats [at] of `rows`, `step` pointers for every
/// kStepPositions. An array of pointers, because a call for the next pointer would spill all registers of the sums.
struct AheadRows {
  const float* const* rows = nullptr;
  int64_t at = 0, step = 0;
};
inline constexpr int64_t kStepPositions = 8;

struct SumTile {
  const float *a = nullptr, *b = nullptr;
  int64_t positions = 0;
  const float* from = nullptr;  ///< sums so far; null: zeros
  int64_t from_step = 0;        ///< floats between rows
  float* to = nullptr;          ///< destination of the sums
  int64_t to_step = 0;
  bool stream = false;            ///< uses non-temporal stores; `to` is aligned to vectors
  const float* next_c = nullptr;  ///< sums of the next tile, prefetched into the L1 cache
  int64_t next_c_step = 0;
  AheadRows ahead;
};

template <int kRows, int kVectors>
HWY_NOINLINE void add_products(const SumTile& tile) {
  constexpr int64_t kLine = 16, kAhead = 512;  // prefetch distance of B in floats
  Tile<kRows, kVectors> sums;
  if (tile.from != nullptr)
    sums.load(tile.from, tile.from_step);
  else
    sums.clear();
  const float *HWY_RESTRICT a = tile.a, *HWY_RESTRICT b = tile.b, *next_c = tile.next_c;
  const float* const* rows = tile.ahead.rows;
  const int64_t step = tile.ahead.step, at = tile.ahead.at;
  int next_row = 0;
  for (int64_t left = tile.positions; left > 0; left -= kStepPositions) {
    for (int64_t i = 0; i < step; ++i) __builtin_prefetch(*rows++ + at, 0, 2);
    if (next_row < kRows) {
      for (int64_t v = 0; v < kVectors * kLanes; v += kLine) __builtin_prefetch(next_c + v, 1, 3);
      next_c += tile.next_c_step;
      ++next_row;
    }
    const int64_t count = std::min(left, kStepPositions);
    _Pragma("GCC unroll 2") for (int64_t k = 0; k < count; ++k, a += kRows, b += kSumColumns) {
      Vec column[kVectors];
      DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) column[v] = hn::LoadU(kFloats, b + v * kLanes);
      DPTRAIN_UNROLL for (int64_t v = 0; v < kVectors * kLanes; v += kLine) __builtin_prefetch(b + v + kAhead, 0, 3);
      DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
        const Vec row = splat(a[r]);
        DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) {
          sums.sum[r][v] = hn::MulAdd(row, column[v], sums.sum[r][v]);
        }
      }
    }
  }
  if (!tile.stream) return sums.store(tile.to, tile.to_step);
  DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
    DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) {
      hn::Stream(sums.sum[r][v], kFloats, tile.to + r * tile.to_step + v * kLanes);
    }
  }
}

/// Calls f(std::integral_constant<int, r>) with the smallest even r >= rows; rows <= kSumRows.
template <int kMax = kSumRows, class F>
HWY_INLINE void with_even_rows(int64_t rows, const F& f) {
  if constexpr (kMax > 2) {
    if (rows < kMax) return with_even_rows<kMax - 2>(rows, f);
  }
  f(std::integral_constant<int, kMax>{});
}

/// The tile of `rows` rows, an even number, and `vectors` vectors of columns.
HWY_INLINE void add_products(int64_t rows, int64_t vectors, const SumTile& tile) {
  with_even_rows(rows, [&](auto r) HWY_ATTR {
    with_vectors<kSumVectors>(vectors,
                              [&](auto v) HWY_ATTR { add_products<decltype(r)::value, decltype(v)::value>(tile); });
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
