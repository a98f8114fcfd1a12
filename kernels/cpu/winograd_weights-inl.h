// Winograd's transforms of the weights and of their gradient. Transformed weights of a block of output columns and their
// gradient are [point][input channel][columns of the block], points an odd number of cache lines apart. Toggle as in
// simd-inl.h.

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

/// The caller's weights [kernel][kernel][in][out], read as a matrix from `rows` to `columns` channels per tap: forward as
/// they are; for the gradient of the input from output to input channels.
struct Filters {
  const float* weights;
  int64_t in, out;
  bool transposed;
  int64_t rows() const { return transposed ? out : in; }
  int64_t columns() const { return transposed ? in : out; }
};

/// taps [kernel^2][16][kTileColumns] <- 16 rows and one block of columns of the filters, zeros where there are none.
template <class W>
HWY_INLINE void gather_taps(const Filters& f, int64_t row, int64_t column, float* taps) {
  const int64_t rows = std::min(kChannelBlock, f.rows() - row), columns = std::min(kTileColumns, f.columns() - column);
  if (rows < kChannelBlock || columns < kTileColumns)
    std::memset(taps, 0, W::kKernel * W::kKernel * kChannelBlock * kTileColumns * sizeof(float));
  for (int64_t t = 0; t < W::kKernel * W::kKernel; ++t, taps += kChannelBlock * kTileColumns) {
    const float* const tap = f.weights + t * f.in * f.out;
    if (f.transposed) {
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r) taps[r * kTileColumns + c] = tap[(column + c) * f.out + row + r];
    } else {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(taps + r * kTileColumns, tap + (row + r) * f.out + column,
                    static_cast<size_t>(columns) * sizeof(float));
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

/// dweights <- G' du G of row `row` and `columns` columns from `column`, where du is the sum of `parts` arrays, `part_step`
/// floats apart, in order. du points to the row.
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
