#include "kernels/cpu/prelu.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"
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
  const Vec slope = hn::IfThenElse(hn::Gt(x, hn::Zero(kFloats)), splat(1.0F), alpha);
  return where(hn::Gt(hn::Abs(x), hn::Zero(kFloats)), hn::Mul(dy, slope));
}
HWY_INLINE Vec prelu_term(Vec x, Vec dy) { return where(hn::Lt(x, hn::Zero(kFloats)), hn::Mul(x, dy)); }

/// With fewer channels, several positions share a vector.
inline constexpr int64_t kNarrow = 4 * kLanes;

/// Calls f(i, alphas of the elements from i on, io) for all elements, one vector at a time.
template <class F>
HWY_INLINE void sweep_positions(int64_t positions, int64_t channels, const float* alpha, const F& f) {
  HWY_ALIGN float repeated[kLanes * kNarrow];
  const int64_t n = positions * channels;
  int64_t period = channels;
  if (channels < kNarrow) {
    period *= kLanes * (kNarrow / channels);  // whole vectors
    for (int64_t i = 0; i < std::min(n, period); i += channels) std::copy_n(alpha, channels, repeated + i);
    alpha = repeated;
  }
  for (int64_t at = 0; at < n; at += period)
    sweep(std::min(period, n - at), [=](int64_t i, auto io) HWY_ATTR { f(at + i, io.load(alpha + i), io); });
}

void prelu_values(const float* x, const float* alpha, int64_t positions, int64_t channels, float* y) {
  sweep_positions(positions, channels, alpha,
                  [=](int64_t i, Vec slope, auto io) HWY_ATTR { io.store(prelu_value(io.load(x + i), slope), y + i); });
}

void prelu_slopes(const float* x, const float* dy, const float* alpha, int64_t positions, int64_t channels, float* dx) {
  sweep_positions(positions, channels, alpha, [=](int64_t i, Vec slope, auto io) HWY_ATTR {
    io.store(prelu_slope(io.load(x + i), io.load(dy + i), slope), dx + i);
  });
}

HWY_INLINE void add_terms_of_one(const float* x, const float* dy, int64_t n, float* sum) {
  for (int64_t begin = 0; begin < n; begin += kSumChain * kLanes) {
    Vec chain = hn::Zero(kFloats);
    sweep(std::min(kSumChain * kLanes, n - begin), [&](int64_t i, auto io) HWY_ATTR {
      chain = hn::Add(chain, prelu_term(io.load(x + begin + i), io.load(dy + begin + i)));  // padding lanes are zero
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

/// As add_terms for fewer channels than a vector has lanes: kLanes positions are `channels` whole vectors.
HWY_INLINE void add_narrow_terms(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums) {
  HWY_ALIGN float lanes[kLanes * kLanes] = {};
  const int64_t n = positions * channels, period = kLanes * channels;
  for (int64_t at = 0; at < n; at += period)
    sweep(std::min(period, n - at), [&](int64_t i, auto io) HWY_ATTR {  // padding lanes are zero
      const Vec sum = hn::Add(hn::Load(kFloats, lanes + i), prelu_term(io.load(x + at + i), io.load(dy + at + i)));
      hn::Store(sum, kFloats, lanes + i);
    });
  for (int64_t i = 0; i < period; ++i) sums[i % channels] += lanes[i];
}

/// Length of a chain of additions with many channels: short enough that the columns stay in the L1 cache.
constexpr int64_t positions_of_chain(int64_t channels) {
  return std::clamp<int64_t>(kPieceElements / 4 / channels, 4, kSumChain);
}

void prelu_terms(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums) {
  if (channels == 1) return add_terms_of_one(x, dy, positions, sums);
  const bool narrow = channels < kLanes;
  const int64_t chain = narrow ? kSumChain * kLanes : positions_of_chain(channels);
  for (int64_t begin = 0; begin < positions; begin += chain) {
    const float *const from = x + begin * channels, *const gradients = dy + begin * channels;
    const int64_t count = std::min(chain, positions - begin);
    if (narrow)
      add_narrow_terms(from, gradients, count, channels, sums);
    else
      add_terms(from, gradients, count, channels, sums);
  }
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
