// Shared by the vectorised optimizer updates.

#if defined(DPTRAIN_KERNELS_CPU_OPTIMIZER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_OPTIMIZER_INL_H
#undef DPTRAIN_KERNELS_CPU_OPTIMIZER_INL_H
#else
#define DPTRAIN_KERNELS_CPU_OPTIMIZER_INL_H
#endif

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE Vec rounded(double value) { return splat(static_cast<float>(value)); }

/// Decoupled weight decay: w - rate w.
HWY_INLINE Vec decayed(Vec rate, Vec w) { return hn::NegMulAdd(rate, w, w); }

HWY_INLINE Vec moved(Vec average, Vec value, Vec share) { return hn::MulAdd(hn::Sub(value, average), share, average); }

HWY_INLINE Vec moved_square(Vec average, Vec value, Vec share) {
  return hn::MulAdd(hn::MulSub(value, value, average), share, average);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
