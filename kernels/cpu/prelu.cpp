#include "kernels/cpu/prelu.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/prelu.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/column_sums-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE Vec prelu_value(Vec x, Vec alpha) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(kFloats)), x, hn::Mul(alpha, x));
}
HWY_INLINE Vec prelu_slope(Vec x, Vec dy, Vec alpha) {
  const Vec zero = hn::Zero(kFloats);
  return hn::IfThenElse(hn::Gt(x, zero), dy, hn::IfThenElseZero(hn::Lt(x, zero), hn::Mul(alpha, dy)));
}
HWY_INLINE Vec prelu_term(Vec x, Vec dy) { return hn::IfThenElseZero(hn::Lt(x, hn::Zero(kFloats)), hn::Mul(x, dy)); }

void prelu_values(const float* x, const float* alpha, int64_t positions, int64_t channels, float* y) {
  if (channels == 1) {
    const Vec slope = splat(alpha[0]);
    return map(
        positions, y, [=](Vec v) HWY_ATTR { return prelu_value(v, slope); }, x);
  }
  for (int64_t i = 0; i < positions * channels; i += channels)
    map(
        channels, y + i, [](Vec v, Vec slope) HWY_ATTR { return prelu_value(v, slope); }, x + i, alpha);
}

void prelu_slopes(const float* x, const float* dy, const float* alpha, int64_t positions, int64_t channels, float* dx) {
  if (channels == 1) {
    const Vec slope = splat(alpha[0]);
    return map(
        positions, dx, [=](Vec v, Vec g) HWY_ATTR { return prelu_slope(v, g, slope); }, x, dy);
  }
  for (int64_t i = 0; i < positions * channels; i += channels)
    map(
        channels, dx + i, [](Vec v, Vec g, Vec slope) HWY_ATTR { return prelu_slope(v, g, slope); }, x + i, dy + i,
        alpha);
}

/// *sum += the terms of n elements of one channel.
HWY_INLINE void add_terms_of_one(const float* x, const float* dy, int64_t n, float* sum) {
  for (int64_t begin = 0; begin < n; begin += kSumChain * kLanes) {
    Vec chain = hn::Zero(kFloats);
    sweep(std::min(kSumChain * kLanes, n - begin), [&](int64_t i, auto io) HWY_ATTR {
      chain = hn::Add(chain, prelu_term(io.load(x + begin + i), io.load(dy + begin + i)));  // lanes beyond are zero
    });
    *sum += sum_lanes(chain);
  }
}

HWY_INLINE void add_terms(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums) {
  sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    Vec sum[kVectors];
    for (int k = 0; k < kVectors; ++k) sum[k] = hn::Zero(kFloats);
    for (int64_t i = c; i < c + positions * channels; i += channels)
      for (int k = 0; k < kVectors; ++k) {
        const int64_t at = i + k * kLanes;
        sum[k] = hn::Add(sum[k], prelu_term(io.load(x + at), io.load(dy + at)));
      }
    for (int k = 0; k < kVectors; ++k) {
      float* const out = sums + c + k * kLanes;
      io.store(hn::Add(io.load(out), sum[k]), out);
    }
  });
}

void prelu_terms(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums) {
  if (channels == 1) return add_terms_of_one(x, dy, positions, sums);
  for (int64_t begin = 0; begin < positions; begin += kSumChain)
    add_terms(x + begin * channels, dy + begin * channels, std::min(kSumChain, positions - begin), channels, sums);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(prelu_values);
HWY_EXPORT(prelu_slopes);
HWY_EXPORT(prelu_terms);

void prelu_forward(const float* x, const float* alpha, int64_t positions, int64_t channels, float* y) {
  HWY_DYNAMIC_DISPATCH(prelu_values)(x, alpha, positions, channels, y);
}

void prelu_input_gradient(const float* x, const float* dy, const float* alpha, int64_t positions, int64_t channels,
                          float* dx) {
  HWY_DYNAMIC_DISPATCH(prelu_slopes)(x, dy, alpha, positions, channels, dx);
}

void prelu_alpha_gradient(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums) {
  HWY_DYNAMIC_DISPATCH(prelu_terms)(x, dy, positions, channels, sums);
}

}  // namespace dptrain::kernels::cpu
#endif
