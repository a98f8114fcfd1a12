// Softmax of groups of rows: with few classes each lane is a row, so that no lane is idle, else each lane is a class.

#if defined(DPTRAIN_KERNELS_CPU_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_SOFTMAX_INL_H
#undef DPTRAIN_KERNELS_CPU_SOFTMAX_INL_H
#else
#define DPTRAIN_KERNELS_CPU_SOFTMAX_INL_H
#endif

#include <limits>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/simd-inl.h"
#include "kernels/cpu/softmax.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Up to this many classes lanes are rows: a group of rows fits the L1 cache.
inline constexpr int64_t kFewClasses = 32;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// kLanes rows of up to kFewClasses classes, transposed: a vector holds one class of all rows.
struct RowGroup {
  HWY_ALIGN float lanes[kFewClasses * kLanes];

  HWY_INLINE Vec get(int64_t c) const { return hn::Load(kFloats, lanes + c * kLanes); }
  HWY_INLINE void set(int64_t c, Vec v) { hn::Store(v, kFloats, lanes + c * kLanes); }

  /// Reads `rows` <= kLanes rows; lanes beyond repeat the first row.
  HWY_INLINE void read(const float* x, int64_t rows, int64_t classes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float* row = x + (lane < rows ? lane : 0) * classes;
      for (int64_t c = 0; c < classes; ++c) lanes[c * kLanes + lane] = row[c];
    }
  }

  HWY_INLINE void write(float* y, int64_t rows, int64_t classes) const {
    for (int64_t lane = 0; lane < rows; ++lane)
      for (int64_t c = 0; c < classes; ++c) y[lane * classes + c] = lanes[c * kLanes + lane];
  }

  HWY_INLINE Vec largest(int64_t classes) const {
    Vec m = get(0);
    for (int64_t c = 1; c < classes; ++c) m = hn::Max(m, get(c));
    return m;
  }

  HWY_INLINE IntVec first_largest(int64_t classes) const {
    Vec best = get(0);
    IntVec at = hn::Zero(kInts);
    for (int64_t c = 1; c < classes; ++c) {
      const Vec v = get(c);
      const auto larger = hn::Gt(v, best);
      best = hn::IfThenElse(larger, v, best);
      at = hn::IfThenElse(hn::RebindMask(kInts, larger), hn::Set(kInts, static_cast<int32_t>(c)), at);
    }
    return at;
  }
};

/// y = softmax(x) for `rows` <= kLanes rows of few classes.
HWY_INLINE void softmax_group(const float* x, int64_t rows, int64_t classes, float* y) {
  RowGroup group;
  group.read(x, rows, classes);
  const Vec most = group.largest(classes);
  Vec sum = hn::Zero(kFloats);
  for (int64_t c = 0; c < classes; ++c) {
    const Vec e = exp_of_negative(hn::Sub(group.get(c), most));
    group.set(c, e);
    sum = hn::Add(sum, e);
  }
  const Vec share = hn::Div(splat(1.0F), sum);
  for (int64_t c = 0; c < classes; ++c) group.set(c, hn::Mul(group.get(c), share));
  group.write(y, rows, classes);
}

HWY_INLINE float largest_of(const float* x, int64_t n) {
  const Vec lowest = splat(-std::numeric_limits<float>::infinity());
  Vec most = lowest, other = lowest;  // two chains of comparisons
  int64_t begin = 0;
  for (; begin + 2 * kLanes <= n; begin += 2 * kLanes) {
    most = hn::Max(most, hn::LoadU(kFloats, x + begin));
    other = hn::Max(other, hn::LoadU(kFloats, x + begin + kLanes));
  }
  sweep(n - begin,
        [&](int64_t i, auto io) HWY_ATTR { most = hn::Max(most, io.clear(io.load(x + begin + i), lowest)); });
  return max_lanes(hn::Max(most, other));
}

HWY_INLINE void softmax_row(const float* x, int64_t classes, float* y) {
  const Vec most = splat(largest_of(x, classes));
  Vec sums = hn::Zero(kFloats);
  sweep(classes, [&](int64_t c, auto io) HWY_ATTR {
    const Vec e = exp_of_negative(hn::Sub(io.load(x + c), most));
    io.store(e, y + c);
    sums = hn::Add(sums, io.clear(e));
  });
  const Vec share = splat(1.0F / sum_lanes(sums));
  map(
      classes, y, [=](Vec e) HWY_ATTR { return hn::Mul(e, share); }, y);
}

HWY_INLINE void log_softmax_row(const float* x, int64_t classes, float* y) {
  const Vec most = splat(largest_of(x, classes));
  Vec sums = hn::Zero(kFloats);
  sweep(classes, [&](int64_t c, auto io)
                     HWY_ATTR { sums = hn::Add(sums, io.clear(exp_of_negative(hn::Sub(io.load(x + c), most)))); });
  const Vec log_sum = log_of_positive(splat(sum_lanes(sums)));
  map(
      classes, y, [=](Vec v) HWY_ATTR { return hn::Sub(hn::Sub(v, most), log_sum); }, x);
}

/// dx = dy - e^y sum(dy) for one row.
HWY_INLINE void log_softmax_backward_row(const float* y, const float* dy, int64_t classes, float* dx) {
  Vec sums = hn::Zero(kFloats);
  sweep(classes, [&](int64_t c, auto io) HWY_ATTR { sums = hn::Add(sums, io.clear(io.load(dy + c))); });
  const Vec sum = splat(sum_lanes(sums));
  map(
      classes, dx, [=](Vec v, Vec g) HWY_ATTR { return hn::NegMulAdd(exp_of_negative(v), sum, g); }, y, dy);
}

/// dx = y (dy - sum(y dy)) for one row.
HWY_INLINE void softmax_backward_row(const float* y, const float* dy, int64_t classes, float* dx) {
  Vec sums = hn::Zero(kFloats);
  sweep(classes, [&](int64_t c, auto io) HWY_ATTR { sums = hn::MulAdd(io.load(y + c), io.load(dy + c), sums); });
  const Vec dot = splat(sum_lanes(sums));
  map(
      classes, dx, [=](Vec p, Vec g) HWY_ATTR { return hn::Mul(p, hn::Sub(g, dot)); }, y, dy);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
