// Matrix products in registers, for all kinds of convolutions. The caller packs operands in blocks of 16 numbers, one
// cache line. Thus the rows of a tile are at constant offsets from one pointer, without power-of-two strides, which
// would compete for the same cache sets. Two products:
//
//   over channels   C[rows][kTileColumns] = A B        A in panels: [group of kTileRows rows][K / 16][kTileRows][16],
//                                                      B rows of the tile's width, C rows of kTileColumns
//   over rows       C[16][kTileColumns] += A' B        A, B: [channels / 16][rows][16]
//
// The sum of an element is one chain of multiply-adds in the order of K, cut only where K is cut. It depends neither on
// the row's place in a tile nor on neighbouring rows, so padding rows may contain anything. Blocks of fewer columns
// than kTileColumns use fewer vectors. Pointers are aligned to a cache line.

#if defined(DPTRAIN_KERNELS_CPU_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_GEMM_INL_H
#undef DPTRAIN_KERNELS_CPU_GEMM_INL_H
#else
#define DPTRAIN_KERNELS_CPU_GEMM_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// The register tile: as many sums as fit next to kTileVectors of B and a broadcast of A.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr int kTileRows = 12, kTileVectors = 2;  // 32 registers of 16 lanes
#elif HWY_ARCH_ARM_A64
inline constexpr int kTileRows = 6, kTileVectors = 4;  // 32 registers of 4
#else
inline constexpr int kTileRows = 6, kTileVectors = 2;  // 16 registers
#endif
inline constexpr int64_t kTileColumns = kTileVectors * kLanes;
/// Rows of a tile that uses all registers, where the number of rows need not be divisible by three.
inline constexpr int kTallRows = kTileRows == 12 ? 14 : kTileRows;
inline constexpr int64_t kChannelBlock = 16;
/// Floats from one group of rows to the next per 16 of K.
inline constexpr int64_t kPanelBlock = kTileRows * kChannelBlock;

#define DPTRAIN_UNROLL _Pragma("GCC unroll 16")

/// Prefetches of Tile::add: the next panel of A, and `lines` lines of the next B with every block of 16.
struct FetchAhead {
  const float *a, *b;
  int64_t lines;
  HWY_INLINE void fetch_b() {
    for (int64_t i = 0; i < lines; ++i, b += kChannelBlock) __builtin_prefetch(b, 0, 2);
  }
  /// Called for k in [0, 16): prefetches a line for each row of a panel.
  HWY_INLINE void fetch_a(int64_t k) {
    __builtin_prefetch(a, 0, 3);
    if (k < kTileRows - 1 || k == kChannelBlock - 1) a += kChannelBlock;
  }
};
struct NoPrefetch {
  HWY_INLINE void fetch_b() const {}
  HWY_INLINE void fetch_a(int64_t) const {}
  HWY_INLINE void fetch_some() const {}
};

/// Rows of a transposed product between two calls of fetch_some(); parts of its 16 columns of A, each over all rows.
inline constexpr int64_t kFetchRows = 8, kRowParts = kTileRows >= 8 ? 2 : 3;

template <int kRows, int kVectors>
struct Tile {
  Vec sum[kRows][kVectors];

  HWY_INLINE Tile() = default;
  HWY_INLINE void clear() {
    DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
      DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(kFloats);
    }
  }
  HWY_INLINE void load(const float* c, int64_t stride) {
    DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
      DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::LoadU(kFloats, c + r * stride + v * kLanes);
    }
  }
  HWY_INLINE void store(float* c, int64_t stride) const {
    DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
      DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], kFloats, c + r * stride + v * kLanes);
    }
  }

  /// sum += A B over `blocks` blocks of 16 of K. A: [16]-blocks `a_step` floats apart, rows 16 floats apart.
  template <class Ahead>
  HWY_INLINE void add(int64_t blocks, const float* HWY_RESTRICT a, int64_t a_step, const float* HWY_RESTRICT b,
                      Ahead ahead) {
    for (; blocks > 0; --blocks, a += a_step) {
      ahead.fetch_b();
      _Pragma("GCC unroll 4") for (int64_t k = 0; k < kChannelBlock; ++k, b += kVectors * kLanes) {
        Vec column[kVectors];
        DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) column[v] = hn::LoadU(kFloats, b + v * kLanes);
        ahead.fetch_a(k);
        DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
          const Vec row = splat(a[r * kChannelBlock + k]);
          DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(row, column[v], sum[r][v]);
        }
      }
    }
  }

  /// sum += A' B over `rows` rows of 16 floats; every 16 columns of B are `b_step` floats apart. Calls
  /// ahead.fetch_some() once per kFetchRows rows.
  template <class Ahead>
  HWY_INLINE void add_transposed(int64_t rows, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t b_step,
                                 Ahead& ahead) {
    while (rows > 0) {
      ahead.fetch_some();
      const int64_t count = std::min(rows, kFetchRows);
      rows -= count;
      _Pragma("GCC unroll 2") for (int64_t k = 0; k < count; ++k, a += kChannelBlock, b += kChannelBlock) {
        Vec column[kVectors];
        DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) {
          column[v] = hn::LoadU(kFloats, b + v * kLanes / kChannelBlock * b_step + v * kLanes % kChannelBlock);
        }
        DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
          const Vec row = splat(a[r]);
          DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(row, column[v], sum[r][v]);
        }
      }
    }
  }
};

/// Calls f(std::integral_constant<int, vectors>) for 1 <= vectors <= kTileVectors.
template <int kMax = kTileVectors, class F>
HWY_INLINE void with_vectors(int64_t vectors, const F& f) {
  if constexpr (kMax > 1) {
    if (vectors < kMax) return with_vectors<kMax - 1>(vectors, f);
  }
  f(std::integral_constant<int, kMax>{});
}

/// Vectors of the tile that starts at column `first` of `columns`.
HWY_INLINE int64_t tile_vectors(int64_t columns, int64_t first) {
  return std::min<int64_t>(kTileVectors, (columns - first + kLanes - 1) / kLanes);
}

/// Calls f(std::integral_constant<int, r>) with the fewest thirds of kTileRows, r rows, that hold `rows` <= kTileRows.
template <class F>
HWY_INLINE void with_rows(int64_t rows, const F& f) {
  constexpr int kThird = kTileRows / 3;
  if (rows > 2 * kThird) return f(std::integral_constant<int, kTileRows>{});
  if (rows > kThird) return f(std::integral_constant<int, 2 * kThird>{});
  f(std::integral_constant<int, kThird>{});
}

/// Operands of the next product, prefetched if they are outside the L2 cache. b null: already in the L2 cache.
struct NextOperands {
  const float *a, *b;
};

/// Floats between groups of kTileRows rows of A, and between blocks of 16 of K within a group.
struct PanelSteps {
  int64_t group, block;
};

/// C[rows][kTileColumns] (+)= A B, rows rounded up to thirds of kTileRows. `a`: [16]-rows 16 floats apart, in groups of
/// kTileRows and `blocks` blocks of 16 of K, spaced by `steps`; B: [16 * blocks][kVectors * kLanes]. K is cut so that
/// its part of B fits half of the L1 cache. kFetch: prefetches the next operands, for operands beyond the L2 cache.
template <int kVectors, bool kFetch>
HWY_NOINLINE void multiply_panels(int64_t rows, int64_t blocks, const float* HWY_RESTRICT a, const PanelSteps& steps,
                                  const float* HWY_RESTRICT b, const NextOperands& next, bool add,
                                  float* HWY_RESTRICT c) {
  constexpr int64_t kMax = 16384 / (kTileColumns * 4) / kChannelBlock;
  constexpr int64_t kRowsOfB = kChannelBlock * kVectors * kLanes;  // floats of B per block
  const int64_t pieces = (blocks + kMax - 1) / kMax, step = (blocks + pieces - 1) / pieces;
  const int64_t groups = (rows + kTileRows - 1) / kTileRows;
  const int64_t lines = next.b == nullptr ? 0 : (kRowsOfB / kChannelBlock + groups - 1) / groups;
  for (int64_t k = 0; k < blocks; k += step) {
    const float* panel = a + k * steps.block;
    const float* const of_b = b + k * kRowsOfB;
    const bool last = k + step >= blocks;
    const float* const next_a = last ? next.a : a + (k + step) * steps.block;
    const float* const next_b = last ? next.b : of_b + step * kRowsOfB;
    const int64_t count = std::min(step, blocks - k);
    for (int64_t g = 0; g < groups; ++g, panel += steps.group) {
      float* const to = c + g * kTileRows * kTileColumns;
      with_rows(rows - g * kTileRows, [&](auto r) HWY_ATTR {
        Tile<decltype(r)::value, kVectors> tile;
        if (add || k > 0)
          tile.load(to, kTileColumns);
        else
          tile.clear();
        if constexpr (kFetch) {
          const FetchAhead ahead{g + 1 < groups ? panel + steps.group : next_a,
                                 lines == 0 ? nullptr : next_b + g * lines * count * kChannelBlock, lines};
          tile.add(count, panel, steps.block, of_b, ahead);
        } else {
          tile.add(count, panel, steps.block, of_b, NoPrefetch{});
        }
        tile.store(to, kTileColumns);
      });
    }
  }
}

template <int kRows, int kVectors, class Ahead>
HWY_INLINE void multiply_rows_part(int64_t rows, const float* a, const float* b, int64_t b_step, float* c, bool add,
                                   Ahead& ahead) {
  Tile<kRows, kVectors> tile;
  if (add)
    tile.load(c, kTileColumns);
  else
    tile.clear();
  tile.add_transposed(rows, a, b, b_step, ahead);
  tile.store(c, kTileColumns);
}

/// C[16][kTileColumns] (+)= A' B over `rows` rows; every 16 columns of B are `b_step` floats apart. Prefetches `ahead`.
template <int kVectors, class Ahead>
HWY_NOINLINE void multiply_rows(int64_t rows, const float* a, const float* b, int64_t b_step, float* c, bool add,
                                Ahead& ahead) {
  if constexpr (kTileRows >= 8) {
    for (int r = 0; r < 16; r += 8)
      multiply_rows_part<8, kVectors>(rows, a + r, b, b_step, c + r * kTileColumns, add, ahead);
  } else {
    multiply_rows_part<6, kVectors>(rows, a, b, b_step, c, add, ahead);
    multiply_rows_part<5, kVectors>(rows, a + 6, b, b_step, c + 6 * kTileColumns, add, ahead);
    multiply_rows_part<5, kVectors>(rows, a + 11, b, b_step, c + 11 * kTileColumns, add, ahead);
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
