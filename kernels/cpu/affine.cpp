#include "kernels/cpu/affine.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/affine.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/column_sums-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void affine_piece(const float* x, const float* shift, const float* scale, const float* offset, int64_t n, float* y) {
  map(
      n, y, [](Vec v, Vec from, Vec factor, Vec to) HWY_ATTR { return hn::MulAdd(hn::Sub(v, from), factor, to); }, x,
      shift, scale, offset);
}

void scale_piece(const float* x, const float* scale, int64_t n, float* y) {
  map(
      n, y, [](Vec v, Vec factor) HWY_ATTR { return hn::Mul(v, factor); }, x, scale);
}

HWY_INLINE void add_products(const float* x, const float* dy, int64_t rows, int64_t channels, float* sums) {
  sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    Vec sum[kVectors];
    for (int k = 0; k < kVectors; ++k) sum[k] = hn::Zero(kFloats);
    for (int64_t i = c; i < c + rows * channels; i += channels)
      for (int k = 0; k < kVectors; ++k)
        sum[k] = hn::MulAdd(io.load(x + i + k * kLanes), io.load(dy + i + k * kLanes), sum[k]);
    for (int k = 0; k < kVectors; ++k) {
      float* const out = sums + c + k * kLanes;
      io.store(hn::Add(io.load(out), sum[k]), out);
    }
  });
}

void product_sums_piece(const float* x, const float* dy, int64_t rows, int64_t channels, float* sums) {
  std::fill(sums, sums + channels, 0.0F);
  for (int64_t row = 0; row < rows; row += kSumChain)
    add_products(x + row * channels, dy + row * channels, std::min(kSumChain, rows - row), channels, sums);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(affine_piece);
HWY_EXPORT(scale_piece);
HWY_EXPORT(product_sums_piece);

void periodic_affine(const float* x, const float* shift, const float* scale, const float* offset, int64_t period,
                     int64_t n, float* y) {
  parallel_ranges((n + period - 1) / period, rows_per_piece(period), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * period; i < std::min(end * period, n); i += period) {
      const int64_t length = std::min(period, n - i);
      if (shift == nullptr)
        HWY_DYNAMIC_DISPATCH(scale_piece)(x + i, scale, length, y + i);
      else
        HWY_DYNAMIC_DISPATCH(affine_piece)(x + i, shift, scale, offset, length, y + i);
    }
  });
}

int64_t channel_scale_workspace(int64_t rows, int64_t channels) {
  return pieces_of(rows, rows_per_partial(rows, channels)) * channels;
}

void channel_scale_gradient(const float* x, const float* dy, int64_t rows, int64_t channels, float* workspace,
                            float* gradient) {
  const int64_t size = rows_per_partial(rows, channels);
  parallel_ranges(rows, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(product_sums_piece)
    (x + begin * channels, dy + begin * channels, end - begin, channels, workspace + begin / size * channels);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0;
    for (int64_t piece = 0; piece < pieces_of(rows, size); ++piece) sum += workspace[piece * channels + c];
    gradient[c] = static_cast<float>(sum);
  }
}

}  // namespace dptrain::kernels::cpu
#endif
