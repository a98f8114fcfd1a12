// Highway's elementary functions, but propagating NaN (its Exp returns 0) and with arguments clamped to valid ranges.

#if defined(DPTRAIN_KERNELS_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_MATH_INL_H
#undef DPTRAIN_KERNELS_CPU_MATH_INL_H
#else
#define DPTRAIN_KERNELS_CPU_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE Vec keep_nan(Vec x, Vec y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

HWY_INLINE Vec exp_of_negative(Vec x) { return keep_nan(x, hn::Exp(kFloats, x)); }

/// e^x; infinity on overflow.
HWY_INLINE Vec exponential(Vec x) {
  // Highway's Exp is valid up to 104, far beyond the overflow of float.
  return keep_nan(x, hn::Exp(kFloats, hn::Min(x, splat(104.0F))));
}

HWY_INLINE Vec expm1_of_negative(Vec x) { return keep_nan(x, hn::Expm1(kFloats, x)); }

HWY_INLINE Vec log_of_positive(Vec x) { return keep_nan(x, hn::Log(kFloats, x)); }

/// 1 / (1 + e^-x), accurate at both ends.
HWY_INLINE Vec logistic(Vec x) {
  const Vec e = exp_of_negative(hn::Neg(hn::Abs(x)));
  const Vec upper = hn::Div(splat(1.0F), hn::Add(splat(1.0F), e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), hn::Mul(e, upper), upper);
}

HWY_INLINE Vec hyperbolic_tangent(Vec x) {
  // Highway's Tanh computes e^(2|x|), which is valid up to 104 only.
  const Vec clamped = hn::Max(hn::Min(x, splat(20.0F)), splat(-20.0F));
  return keep_nan(x, hn::Tanh(kFloats, clamped));
}

HWY_INLINE Vec log_one_plus_exp(Vec x) {
  const Vec e = exp_of_negative(hn::Neg(hn::Abs(x)));
  return hn::Add(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(kFloats)), x), keep_nan(e, hn::Log1p(kFloats, e)));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
