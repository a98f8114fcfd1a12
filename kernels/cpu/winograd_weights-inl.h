// Winograd's transforms of the weights and of their gradient. Transformed weights of a block of output columns and
// their gradient are [point][input channel][columns of the block], points an odd number of cache lines apart. Toggle as
// in simd-inl.h.

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

/// The caller's weights [kernel][kernel][in][out], read as a matrix from `rows` to `columns` channels per tap: forward
/// as they are; for the gradient of the input from output to input channels.
struct Filters {
  const float* weights;
  int64_t in, out;
  bool transposed;
  int64_t rows() const { return transposed ? out : in; }
  int64_t columns() const { return transposed ? in : out; }
};

/// to[r * kTileColumns + c] = from[c * stride + r] for r < 16 and c < columns.
HWY_INLINE void transpose_rows(const float* from, int64_t stride, int64_t columns, float* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr hn::FixedTag<float, 4> kFour;
  constexpr hn::RepartitionToWide<decltype(kFour)> kTwo;
  for (; c + 4 <= columns; c += 4, from += 4 * stride) {
    for (int64_t r = 0; r < kChannelBlock; r += 4) {
      const auto a0 = hn::LoadU(kFour, from + r), a1 = hn::LoadU(kFour, from + stride + r);
      const auto a2 = hn::LoadU(kFour, from + 2 * stride + r), a3 = hn::LoadU(kFour, from + 3 * stride + r);
      const auto wide = [&](auto v) HWY_ATTR { return hn::BitCast(kTwo, v); };
      const auto low01 = wide(hn::InterleaveLower(kFour, a0, a1)), high01 = wide(hn::InterleaveUpper(kFour, a0, a1));
      const auto low23 = wide(hn::InterleaveLower(kFour, a2, a3)), high23 = wide(hn::InterleaveUpper(kFour, a2, a3));
      float* const row = to + r * kTileColumns + c;
      const auto put = [&](auto v, int64_t i)
                           HWY_ATTR { hn::StoreU(hn::BitCast(kFour, v), kFour, row + i * kTileColumns); };
      put(hn::InterleaveLower(kTwo, low01, low23), 0);
      put(hn::InterleaveUpper(kTwo, low01, low23), 1);
      put(hn::InterleaveLower(kTwo, high01, high23), 2);
      put(hn::InterleaveUpper(kTwo, high01, high23), 3);
    }
  }
#endif
  for (; c < columns; ++c, from += stride)
    for (int64_t r = 0; r < kChannelBlock; ++r) to[r * kTileColumns + c] = from[r];
}

/// taps [kernel^2][16][kTileColumns] <- 16 rows and one block of columns of the filters, zeros where there are none.
/// The rows that follow are fetched ahead: lines far apart, which no hardware foresees.
template <class W>
HWY_INLINE void gather_taps(const Filters& f, int64_t row, int64_t column, float* taps) {
  const int64_t rows = std::min(kChannelBlock, f.rows() - row), columns = std::min(kTileColumns, f.columns() - column);
  const int64_t next = std::min(kChannelBlock, f.rows() - row - rows);
  if (rows < kChannelBlock || columns < kTileColumns)
    std::memset(taps, 0, W::kKernel * W::kKernel * kChannelBlock * kTileColumns * sizeof(float));
  for (int64_t t = 0; t < W::kKernel * W::kKernel; ++t, taps += kChannelBlock * kTileColumns) {
    const float* const tap = f.weights + t * f.in * f.out;
    if (f.transposed) {
      const float* const from = tap + column * f.out + row;
      if (next > 0)
        for (int64_t c = 0; c < columns; ++c) __builtin_prefetch(from + c * f.out + rows, 0, 2);
      if (rows == kChannelBlock) {
        transpose_rows(from, f.out, columns, taps);
      } else {
        for (int64_t c = 0; c < columns; ++c)
          for (int64_t r = 0; r < rows; ++r) taps[r * kTileColumns + c] = from[c * f.out + r];
      }
    } else {
      const float* const from = tap + row * f.out + column;
      for (int64_t r = 0; r < next; ++r)
        for (int64_t c = 0; c < columns; c += kChannelBlock) __builtin_prefetch(from + (rows + r) * f.out + c, 0, 2);
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(taps + r * kTileColumns, from + r * f.out, static_cast<size_t>(columns) * sizeof(float));
    }
  }
}

/// G g G' of 16 rows and a block of columns, of `vectors` vectors: to u, which points to the first of the rows.
template <class W>
HWY_INLINE void transform_filters(const Filters& f, int64_t row, int64_t column, int64_t vectors, int64_t point_step,
                                  float* u) {
  constexpr int kPoints = W::kPoints, kKernel = W::kKernel;
  HWY_ALIGN float taps[kKernel * kKernel * kChannelBlock * kTileColumns];
  gather_taps<W>(f, row, column, taps);
  for (int64_t r = 0; r < kChannelBlock; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      const float* const from = taps + r * kTileColumns + v * kLanes;
      Vec half[kPoints][kKernel];
      DPTRAIN_UNROLL for (int j = 0; j < kKernel; ++j) {
        Vec in[kKernel], out[kPoints];
        DPTRAIN_UNROLL for (int i = 0; i < kKernel; ++i) in[i] =
            hn::LoadU(kFloats, from + (i * kKernel + j) * kChannelBlock * kTileColumns);
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

/// dweights <- G' du G of row `row` and `columns` columns from `column`, where du is the sum of `parts` arrays,
/// `part_step` floats apart, in order. du points to the row.
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
      DPTRAIN_UNROLL for (int j = 0; j < kKernel; ++j)
          io.store(out[j], dweights + ((i * kKernel + j) * in + row) * out_channels + column + c);
    }
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
