// Random numbers of dropout (dropout.h), for kernels that apply it in their own passes.

#if defined(DPTRAIN_KERNELS_CPU_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_DROPOUT_INL_H
#undef DPTRAIN_KERNELS_CPU_DROPOUT_INL_H
#else
#define DPTRAIN_KERNELS_CPU_DROPOUT_INL_H
#endif

#include <cmath>

#include "kernels/cpu/dropout.h"
#include "kernels/cpu/philox-inl.h"
#include "kernels/philox.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// uniform >= rate in integers: an element is kept if (bits >> 8) >= threshold.
struct Keep {
  uint32_t threshold;
  float factor;
  explicit Keep(float rate)
      : threshold(static_cast<uint32_t>(std::ceil(static_cast<double>(rate) * 16777216.0))),
        factor(static_cast<float>(1.0 / (1.0 - static_cast<double>(rate)))) {}
};

/// Random words of elements [4 * group, 4 * group + 4) of a row of the global batch.
HWY_INLINE PhiloxBlock drawn_words(const Dropout& dropout, uint32_t row, uint32_t group) {
  return philox4x32({{row, group, static_cast<uint32_t>(dropout.step), static_cast<uint32_t>(dropout.step >> 32)}},
                    {{dropout.seed, dropout.layer}});
}

#if HWY_TARGET != HWY_SCALAR

HWY_INLINE Vec drop(const Keep& keep, WordVec bits, Vec x) {
  const IntVec upper = hn::BitCast(kInts, hn::ShiftRight<8>(bits));
  const auto kept = hn::Gt(upper, hn::Set(kInts, static_cast<int32_t>(keep.threshold) - 1));
  return hn::IfThenElseZero(float_mask(kept), hn::Mul(x, splat(keep.factor)));
}

/// Random words of kLanes groups of four elements: c[k] holds those of elements 4 * (group + lane) + k.
HWY_INLINE void draw_groups(const Dropout& dropout, uint32_t row, uint32_t group, WordVec c[4]) {
  const Words words;
  c[0] = hn::Set(words, row);
  c[1] = hn::Iota(words, group);
  c[2] = hn::Set(words, static_cast<uint32_t>(dropout.step));
  c[3] = hn::Set(words, static_cast<uint32_t>(dropout.step >> 32));
  philox_lanes(c, dropout.seed, dropout.layer);
}

#endif

/// Floats that drop_factors() may write for n elements.
HWY_INLINE int64_t drop_factors_scratch(int64_t n) { return (n + 4 * kLanes - 1) / (4 * kLanes) * 4 * kLanes; }

/// Factors of elements [4 * group, 4 * group + n) of a row: 0 or keep.factor.
HWY_INLINE void drop_factors(const Dropout& dropout, const Keep& keep, uint32_t row, uint32_t group, int64_t n,
                             float* factors) {
#if HWY_TARGET != HWY_SCALAR
  const Vec one = splat(1.0F);
  for (int64_t i = 0; i < n; i += 4 * kLanes) {
    WordVec c[4];
    draw_groups(dropout, row, group + static_cast<uint32_t>(i / 4), c);
    hn::StoreInterleaved4(drop(keep, c[0], one), drop(keep, c[1], one), drop(keep, c[2], one), drop(keep, c[3], one),
                          kFloats, factors + i);
  }
#else
  for (int64_t i = 0; i < n; i += 4) {
    const PhiloxBlock block = drawn_words(dropout, row, group + static_cast<uint32_t>(i / 4));
    for (int64_t k = 0; k < 4; ++k) factors[i + k] = (block.word[k] >> 8) >= keep.threshold ? keep.factor : 0.0F;
  }
#endif
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
