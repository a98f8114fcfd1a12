// Winograd's transforms of the weights and of their gradient. For a block of output columns both are [point][input
// channel][columns of the block], with an odd number of cache lines per point.

#if defined(DPTRAIN_KERNELS_CPU_WINOGRAD_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_WINOGRAD_WEIGHTS_INL_H
#undef DPTRAIN_KERNELS_CPU_WINOGRAD_WEIGHTS_INL_H
#else
#define DPTRAIN_KERNELS_CPU_WINOGRAD_WEIGHTS_INL_H
#endif

#include "kernels/cpu/gemm-inl.h"
#include "kernels/cpu/winograd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// The caller's weights [kernel][kernel][in][out], read as a matrix of `rows` x `columns` channels per tap: for the
/// data gradient transposed, from output to input channels.
struct Filters {
  const float* weights;
  int64_t in, out;
  bool transposed;
  int64_t rows() const { return transposed ? out : in; }
  int64_t columns() const { return transposed ? in : out; }
};

#if HWY_TARGET != HWY_SCALAR
/// Concatenates four floats from every fourth line of `from`. Lines are `stride` floats apart.
template <class D>
HWY_INLINE hn::Vec<D> load_every_fourth(D d, const float* from, int64_t stride) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    constexpr hn::Half<D> kHalf;
    const auto lower = load_every_fourth(kHalf, from, stride);
    const auto upper = load_every_fourth(kHalf, from + static_cast<int64_t>(hn::MaxLanes(kHalf)) * stride, stride);
    return hn::Combine(d, upper, lower);
  } else {
    return hn::LoadU(d, from);
  }
}
#endif

/// to[r * kTileColumns + c] = from[c * stride + r] for r < 16 and c < columns.
HWY_INLINE void transpose_rows(const float* from, int64_t stride, int64_t columns, float* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr hn::RepartitionToWide<Floats> kPairs;
  for (; c + kLanes <= columns; c += kLanes, from += kLanes * stride) {
    for (int64_t r = 0; r < kChannelBlock; r += 4) {
      const auto line = [&](int64_t i) HWY_ATTR { return load_every_fourth(kFloats, from + i * stride + r, stride); };
      const Vec a0 = line(0), a1 = line(1), a2 = line(2), a3 = line(3);  // each 4x4 square is transposed in place
      const auto pairs = [&](Vec v) HWY_ATTR { return hn::BitCast(kPairs, v); };
      const auto low01 = pairs(hn::InterleaveLower(kFloats, a0, a1)),
                 high01 = pairs(hn::InterleaveUpper(kFloats, a0, a1));
      const auto low23 = pairs(hn::InterleaveLower(kFloats, a2, a3)),
                 high23 = pairs(hn::InterleaveUpper(kFloats, a2, a3));
      float* const row = to + r * kTileColumns + c;
      const auto put = [&](auto v, int64_t i)
                           HWY_ATTR { hn::StoreU(hn::BitCast(kFloats, v), kFloats, row + i * kTileColumns); };
      put(hn::InterleaveLower(kPairs, low01, low23), 0);
      put(hn::InterleaveUpper(kPairs, low01, low23), 1);
      put(hn::InterleaveLower(kPairs, high01, high23), 2);
      put(hn::InterleaveUpper(kPairs, high01, high23), 3);
    }
  }
#endif
  for (; c < columns; ++c, from += stride)
    for (int64_t r = 0; r < kChannelBlock; ++r) to[r * kTileColumns + c] = from[r];
}

/// Taps of 16 rows and a block of columns: tap t of row r at at[t * tap_step + r * row_step].
struct Taps {
  const float* at;
  int64_t tap_step, row_step;
};

/// The taps in place if they are complete and need no transposition; else copied to `scratch`
/// [kernel^2][16][kTileColumns], padded with zeros.
template <class W>
HWY_INLINE Taps gather_taps(const Filters& f, int64_t row, int64_t column, float* scratch) {
  constexpr int64_t kTaps = W::kKernel * W::kKernel, kTap = kChannelBlock * kTileColumns;
  const int64_t rows = std::min(kChannelBlock, f.rows() - row), columns = std::min(kTileColumns, f.columns() - column);
  const bool whole = rows == kChannelBlock && columns % kLanes == 0;
  if (whole && !f.transposed) return {f.weights + row * f.out + column, f.in * f.out, f.out};
  if (!whole) std::memset(scratch, 0, kTaps * kTap * sizeof(float));
  for (int64_t t = 0; t < kTaps; ++t) {
    const float* const tap = f.weights + t * f.in * f.out;
    float* const to = scratch + t * kTap;
    if (!f.transposed) {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(to + r * kTileColumns, tap + (row + r) * f.out + column,
                    static_cast<size_t>(columns) * sizeof(float));
    } else if (rows == kChannelBlock) {
      transpose_rows(tap + column * f.out + row, f.out, columns, to);
    } else {
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r) to[r * kTileColumns + c] = tap[(column + c) * f.out + row + r];
    }
  }
  return {scratch, kTap, kTileColumns};
}

/// Prefetches a sixteenth of 16 rows and a block of columns: distant lines, which defeat the hardware prefetcher.
template <class W>
HWY_INLINE void fetch_taps(const Filters& f, int64_t row, int64_t column, int64_t part) {
  const int64_t rows = std::min(kChannelBlock, f.rows() - row), columns = std::min(kTileColumns, f.columns() - column);
  for (int64_t t = 0; t < W::kKernel * W::kKernel; ++t) {
    const float* const tap = f.weights + t * f.in * f.out;
    if (f.transposed) {
      for (int64_t c = part; c < columns; c += kChannelBlock)
        if (rows > 0) __builtin_prefetch(tap + (column + c) * f.out + row, 0, 2);
    } else if (part < rows) {
      for (int64_t c = 0; c < columns; c += kChannelBlock)
        __builtin_prefetch(tap + (row + part) * f.out + column + c, 0, 2);
    }
  }
}

/// Writes G g G' of 16 rows and `vectors` vectors of columns to u, at the first row. Prefetches the next rows.
template <class W>
HWY_INLINE void transform_filters(const Filters& f, int64_t row, int64_t column, int64_t vectors, int64_t point_step,
                                  float* u) {
  constexpr int kPoints = W::kPoints, kKernel = W::kKernel;
  HWY_ALIGN float scratch[kKernel * kKernel * kChannelBlock * kTileColumns];
  const Taps taps = gather_taps<W>(f, row, column, scratch);
  for (int64_t r = 0; r < kChannelBlock; ++r) {
    fetch_taps<W>(f, row + kChannelBlock, column, r);
    for (int64_t v = 0; v < vectors; ++v) {
      const float* const from = taps.at + r * taps.row_step + v * kLanes;
      Vec half[kPoints][kKernel];
      DPTRAIN_UNROLL for (int j = 0; j < kKernel; ++j) {
        Vec in[kKernel], out[kPoints];
        DPTRAIN_UNROLL for (int i = 0; i < kKernel; ++i) in[i] =
            hn::LoadU(kFloats, from + (i * kKernel + j) * taps.tap_step);
        W::g(in, out);
        DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) half[i][j] = out[i];
      }
      float* point = u + (r * vectors + v) * kLanes;
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) {
        Vec out[kPoints];
        W::g(half[i], out);
        DPTRAIN_UNROLL for (int j = 0; j < kPoints; ++j, point += point_step) hn::StoreU(out[j], kFloats, point);
      }
    }
  }
}

/// dweights = G' du G for row `row` and `columns` columns from `column` on. du, at that row, is the sum of `parts`
/// arrays, `part_step` floats apart, in order. Prefetches the output of the row after the next.
template <class W>
HWY_INLINE void inverse_filters(const float* du, int64_t point_step, int64_t parts, int64_t part_step, int64_t in,
                                int64_t out_channels, int64_t row, int64_t column, int64_t columns, float* dweights) {
  constexpr int kPoints = W::kPoints, kKernel = W::kKernel;
  sweep(columns, [&](int64_t c, auto io) HWY_ATTR {
    Vec half[kKernel][kPoints];
    _Pragma("GCC unroll 1") for (int j = 0; j < kPoints; ++j) {
      Vec from[kPoints], out[kKernel];
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) from[i] =
          hn::LoadU(kFloats, du + c + (i * kPoints + j) * point_step);
      for (int64_t part = 1; part < parts; ++part) {
        DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) from[i] =
            hn::Add(from[i], hn::LoadU(kFloats, du + part * part_step + c + (i * kPoints + j) * point_step));
      }
      W::gt(from, out);
      DPTRAIN_UNROLL for (int i = 0; i < kKernel; ++i) half[i][j] = out[i];
    }
    DPTRAIN_UNROLL for (int i = 0; i < kKernel; ++i) {
      Vec out[kKernel];
      W::gt(half[i], out);
      DPTRAIN_UNROLL for (int j = 0; j < kKernel; ++j) {
        float* const to = dweights + ((i * kKernel + j) * in + row) * out_channels + column + c;
        io.store(out[j], to);
        __builtin_prefetch(to + 2 * out_channels, 1, 2);
      }
    }
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
