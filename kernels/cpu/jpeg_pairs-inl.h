// Sums of two products of 16 bits, in 32 bits. Included by kernel sources after hwy/foreach_target.h, once per
// instruction set; for those that have vectors.

#if defined(DPTRAIN_KERNELS_CPU_JPEG_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_JPEG_PAIRS_INL_H
#undef DPTRAIN_KERNELS_CPU_JPEG_PAIRS_INL_H
#else
#define DPTRAIN_KERNELS_CPU_JPEG_PAIRS_INL_H
#endif

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

using Shorts = hn::CappedTag<int16_t, 32>;
using Longs = hn::RepartitionToWide<Shorts>;
using ShortVec = hn::Vec<Shorts>;
using LongVec = hn::Vec<Longs>;
inline constexpr Shorts kShorts{};
inline constexpr Longs kLongs{};
inline constexpr int64_t kShortLanes = static_cast<int64_t>(hn::MaxLanes(kShorts));

HWY_INLINE ShortVec shorts(int value) { return hn::Set(kShorts, static_cast<int16_t>(value)); }

/// What comes of a vector of shorts in 32 bits: of the lower and of the upper half of each 128 bits.
struct Halves {
  LongVec low, high;
  HWY_INLINE Halves() = default;
  HWY_INLINE Halves(LongVec l, LongVec h) : low(l), high(h) {}
};
HWY_INLINE Halves operator+(Halves a, Halves b) { return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)}; }
HWY_INLINE Halves operator-(Halves a, Halves b) { return {hn::Sub(a.low, b.low), hn::Sub(a.high, b.high)}; }

#if HWY_ARCH_X86

/// Two vectors whose lanes are multiplied by two constants and added.
struct Pairs {
  ShortVec low, high;
  HWY_INLINE Pairs(ShortVec x, ShortVec y)
      : low(hn::InterleaveLower(kShorts, x, y)), high(hn::InterleaveUpper(kShorts, x, y)) {}
  /// a x + b y.
  HWY_INLINE Halves weigh(int a, int b) const {
    const uint32_t both = static_cast<uint32_t>(b) << 16 | (static_cast<uint32_t>(a) & 0xFFFF);
    const ShortVec weights = hn::BitCast(kShorts, hn::Set(kLongs, static_cast<int32_t>(both)));
    LongVec none = hn::Zero(kLongs);
    return {hn::ReorderWidenMulAccumulate(kLongs, low, weights, none, none),
            hn::ReorderWidenMulAccumulate(kLongs, high, weights, none, none)};
  }
};

HWY_INLINE ShortVec saturated(Halves v) { return hn::ReorderDemote2To(kShorts, v.low, v.high); }

#else

struct Pairs {
  Halves x, y;
  HWY_INLINE static Halves wide(ShortVec v) {
    return {hn::PromoteTo(kLongs, hn::LowerHalf(v)), hn::PromoteTo(kLongs, hn::UpperHalf(hn::Half<Shorts>(), v))};
  }
  HWY_INLINE Pairs(ShortVec a, ShortVec b) : x(wide(a)), y(wide(b)) {}
  HWY_INLINE Halves weigh(int a, int b) const {
    const LongVec of_x = hn::Set(kLongs, a), of_y = hn::Set(kLongs, b);
    return {hn::Add(hn::Mul(x.low, of_x), hn::Mul(y.low, of_y)), hn::Add(hn::Mul(x.high, of_x), hn::Mul(y.high, of_y))};
  }
};

HWY_INLINE ShortVec saturated(Halves v) {
  const hn::Half<Shorts> half;
  return hn::Combine(kShorts, hn::DemoteTo(half, v.high), hn::DemoteTo(half, v.low));
}

#endif

/// v / 2^kShift, rounded down; what 16 bits do not hold becomes the nearest that they hold.
template <int kShift>
HWY_INLINE ShortVec descaled(Halves v) {
  return saturated({hn::ShiftRight<kShift>(v.low), hn::ShiftRight<kShift>(v.high)});
}

#endif

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
